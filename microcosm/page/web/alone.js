/*
 * A page without a session: it reads what stands in its own document, and works out what a session would be asked:
 * what would follow, were something so of two events, and what could order them.
 *
 * Where the file has what the offline rules leave of each pair, the same propagation goes on from there. Of more
 * events only an order can be supposed: it orders whatever is at or before the one and at or after the other.
 */

/** Bits of what may be, as the column `left` has them. */
const MAY = /** @type {Record<string, number>} */ ({'<': 1, '>': 2, '||': 4});

/** What may be of x and z, by what may be of x and y and of y and z: for each two bits. */
const THROUGH = [[1, 7, 5], [7, 2, 6], [5, 6, 7]];

/** For each two sets of bits. */
const COMPOSED = Array.from({length: 64}, (_, both) => {
    let found = 0;
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) if (both >> i & 1 && both >> (j + 3) & 1) found |= THROUGH[i][j];
    return found;
});

/** What would follow of `a sign b`; null where the file does not tell. @returns {Promise<Supposed|null>} */
async function supposed(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b) {
    if (possibilities(a, b)?.includes(sign) === false) return {possible: false, follows: [], derivation: refutation(a, sign, b)};
    if (model.columns.left) return narrowed(a, MAY[sign], b);
    if (sign === '||' || !model.head.closed) return null;
    const [low, high] = sign === '<' ? [a, b] : [b, a];
    if (before(high, low)) return {possible: false, follows: [], derivation: refutation(a, sign, b)};
    return byCones(low, high);
}

/** By propagation, from what the file says is left of every pair. Cost: n for each pair of which less is left then. */
function narrowed(/** @type {number} */ a, /** @type {number} */ bits, /** @type {number} */ b) {
    const may = new Uint8Array(model.n * model.n), turn = [0, 2, 1, 3, 4, 6, 5, 7];
    const signs = Object.keys(MAY), sets = Array.from({length: 8}, (_, set) => signs.filter((one) => set & MAY[one]));
    for (let x = 0; x < model.n; x++) for (let y = 0; y < model.n; y++) {
        if (x !== y) for (const one of possibilities(x, y) ?? signs) may[x * model.n + y] |= MAY[one];
    }
    const was = may.slice(), waiting = [[a, b]];
    let possible = true;
    const less = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ left) => {
        const now = may[x * model.n + y] & left;
        if (now === may[x * model.n + y]) return;
        may[x * model.n + y] = now;
        may[y * model.n + x] = turn[now];
        possible &&= now > 0;
        waiting.push([x, y]);
    };
    waiting.pop();
    less(a, b, bits);
    while (waiting.length && possible) {
        const [x, y] = /** @type {number[]} */ (waiting.pop());
        for (let z = 0; z < model.n; z++) {
            if (z === x || z === y) continue;
            less(x, z, COMPOSED[may[x * model.n + y] | may[y * model.n + z] << 3]);
            less(z, y, COMPOSED[may[z * model.n + x] | may[x * model.n + y] << 3]);
        }
    }
    /** @type {[string, string, string[]][]} */
    const follows = [];
    if (possible) {
        const names = Array.from(upTo(model.n), (i) => model.name(i)), sorted = [...names.keys()].sort((i, j) => names[i] < names[j] ? -1 : 1);
        sorted.forEach((x, at) => sorted.slice(at + 1).forEach((y) => {
            if (may[x * model.n + y] !== was[x * model.n + y]) follows.push([names[x], names[y], sets[may[x * model.n + y]]]);
        }));
    }
    return {possible, follows};
}

/** By cones: how many pairs an order of `low` before `high` would order, and those nearest to it. */
async function byCones(/** @type {number} */ low, /** @type {number} */ high) {
    const ends = past(low).slice(), starts = future(high).slice();
    ends[model.chainOf(low)]++;
    starts[model.chainOf(high)]--;
    let count = 0;
    const later = Array.from(starts, (start, c) => [model.offset[c] + start, model.offset[c + 1]]);
    for (const [from, until] of later) {
        await slices(until - from, () => true, (at) => {
            const known = past(from + at);
            for (let c = 0; c < ends.length; c++) if (ends[c] > known[c]) count += ends[c] - known[c];
        });
    }
    const earlier = Array.from(ends, (end, c) => end ? model.offset[c] + end - 1 : -1).filter((x) => x >= 0);
    const pairs = earlier.flatMap((x) => later.filter(([from, until]) => from < until && (x === low || from === high) && !before(x, from)).map(([from]) => [x, from]));
    return {possible: true, count, follows: pairs.slice(0, SHOWN).map(([x, y]) => /** @type {[string, string, string[]]} */ ([model.name(x), model.name(y), ['<']]))};
}

/** So many observations are told. */
const TOLD = 100;

/**
 * What could order two events that are not: for each lost end of a message, in each gap in which it may lie, what
 * would follow. A lost reception lies in a gap of a process to which it was sent, a lost sending in one of any other
 * process; and never at an event that is in the log.
 * @param {number} a @param {number} b
 * @returns {{text: string, sign: string, event: number, gap: number, lost: 'reception' | 'sending'}[]}
 */
function settles(a, b) {
  const sign = verdict(a, b);
  if (sign === '<' || sign === '>' || sign === '||') return [];
  const lost = remembered('lost', -1, () => upTo(model.n).filter(i => model.kind[i] & 12));
  const receivers = remembered('receivers', -1, () => new Map(model.head.lost));
  /** @type {{text: string, sign: string, event: number, gap: number, lost: 'reception' | 'sending'}[]} */
  const found = [];
  for (const [low, high, told] of /** @type {[number, number, string][]} */ ([[a, b, '<'], [b, a, '>']])) {
    const said = `${model.name(low)} < ${model.name(high)} if what`;
    const sent = [...lost].filter(i => model.kind[i] & 4 && upto(low, i)), received = [...lost].filter(i => model.kind[i] & 8 && upto(i, high));
    for (const [gap] of model.head.gaps) {
      const lane = model.lane(gap), earlier = gap > model.offset[model.chain[gap]] ? gap - 1 : -1;
      if (upto(gap, high)) for (const event of sent) {
        const to = receivers.get(event);
        if (model.lane(event) === lane || (to && !to.includes(model.lanes[lane].name)) || upto(gap, event)) continue;
        found.push({ text: `${said} ${model.name(event)} sent was received in the gap before ${model.name(gap)}`, sign: told, event, gap, lost: 'reception' });
      }
      if (earlier >= 0 && upto(low, earlier)) for (const event of received) {
        if (model.lane(event) === lane || upto(event, earlier)) continue;
        found.push({ text: `${said} ${model.name(event)} received was sent in the gap before ${model.name(gap)}`, sign: told, event, gap, lost: 'sending' });
      }
      if (found.length >= TOLD) return found;
    }
  }
  return found;
}

app.alone = {supposed, settles};

app.read = async () => {
    const head = JSON.parse(find('head').textContent), texts = /** @type {Record<string, string>} */ ({});
    for (const {name} of head.columns) {
        const element = find(`col-${name}`);
        texts[name] = element.textContent;
        element.remove();
    }
    return {head, texts};
};
