/*
 * What would follow, were something so of two events, and why something cannot be: worked out from the file.
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

/** @typedef {{possible: boolean, follows: [string, string, string[]][], count?: number, derivation?: any}} Supposed */

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

// -- why it cannot be -------------------------------------------------------------------------------------------

function offline(/** @type {string} */ rule, /** @type {number} */ a, /** @type {string} */ relation, /** @type {number} */ b, /** @type {any[]} */ premises) {
    return {rule, conclusion: {judgement: 'offline', left: model.name(a), relation, right: model.name(b)}, premises};
}

/** An online verdict, as offline decision making takes it; null where the file has no proof of it. */
function approved(/** @type {number} */ a, /** @type {number} */ b) {
    const found = proofOf(a, b), proof = found?.derivation ?? found;
    if (!proof || proof.lemmas) return null;
    return {rule: 'Off-OK', conclusion: {...proof.conclusion, judgement: 'offline'}, premises: [proof]};
}

/** A proof that `a sign b` cannot be, from the verdicts that rule it out; null where the file has none. @returns {any} */
function refutation(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b) {
    if (sign === '>') return refutation(b, '<', a);
    const said = verdict(a, b), rule = /** @type {Record<string, string>} */ ({'<': 'Ref-<', '>': 'Ref-<', '<>': 'Ref-<>'})[said];
    if (said === sign) return null;
    if (said === '>' || sign === '||') {
        return said === '||' || !rule ? null : wrapped(approved(a, b), (base) => offline(rule, a, `!${sign}`, b, [base]));
    }
    const earlier = sidesOf(past(a), a, true), later = sidesOf(future(b), b, false);
    for (const u of earlier) for (const v of later) {
        const given = model.head.given.some((/** @type {any[]} */ [x, one, y]) => one === '!<' && x === u && y === v);
        if (!given && verdict(u, v) !== '||') continue;
        let proof = given ? offline('Off-Init', u, '!<', v, []) : wrapped(approved(u, v), (base) => offline('Ref-||', u, '!<', v, [base]));
        if (u !== a) proof &&= wrapped(approved(u, a), (order) => offline('No-Tr-L', a, '!<', v, [order, proof]));
        if (v !== b) proof &&= wrapped(approved(b, v), (order) => offline('No-Tr-R', a, '!<', b, [order, proof]));
        if (proof) return proof;
    }
    return null;
}

/** @param {any} base @param {(base: any) => any} step */
function wrapped(base, step) {
    return base && step(base);
}

/** An event and those before it, or after it, the nearest first. */
function sidesOf(/** @type {Int32Array} */ counts, /** @type {number} */ own, /** @type {boolean} */ back) {
    const found = [own];
    counts.forEach((count, c) => {
        for (let i = back ? model.offset[c] : model.offset[c] + count; i < (back ? model.offset[c] + count : model.offset[c + 1]); i++) found.push(i);
    });
    return found.sort((i, j) => abs(model.step[i] - model.step[own]) - abs(model.step[j] - model.step[own]));
}
