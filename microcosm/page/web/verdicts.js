// Verdicts: what the file tells of two events, and never more.
//
// `<` and `>` come from vectors over the chains; `||` and `<>` from clocks, tokens and what is given; `?` and
// silence only from what the file has of them: `table`, or `apart`. What it does not have is 'unsaid'. Whatever
// takes long is remembered with the model, so that a model that came anew begins anew.

/** @typedef {'<'|'>'|'||'|'<>'|'?'|'silent'|'unsaid'} Verdict */

/** Verdicts as the column `table` has them. @type {Verdict[]} */
const IN_TABLE = ['silent', '<', '>', '||', '<>', '?'];

/** The same as seen from the other event. @param {Verdict} sign @returns {Verdict} */
const turned = sign => sign === '<' ? '>' : sign === '>' ? '<' : sign;

/** Bits of `kind`: a clock that tells all beside another such; any other clock. */
const CLOCKED = 16, TIMED = 128;

/** So many vectors are remembered where they are worked out one by one. */
const REMEMBERED = 256;

/** Whether a is before b, by what is given and by clocks. @param {number} a @param {number} b @returns {boolean} */
function before(a, b) {
  if (!model.head.closed) return a !== b && fromTable(a, b) === '<';
  const c = model.chain[a], d = model.chain[b];
  if (c === d) return a < b;
  return model.part[c] === model.part[d] && (model.vectors ? model.vectors[model.row[b] + model.place[c]] : past(b)[c]) > a - model.offset[c];
}

/** Whether a is b, or before it. @param {number} a @param {number} b @returns {boolean} */
const upto = (a, b) => a === b || before(a, b);

/** Of each chain how many events, from the first, are before b. @param {number} b @returns {Int32Array} */
function past(b) {
  if (!model.head.closed) return counted(c => prefix(c, i => before(i, b)));
  if (!model.vectors) return remembered('pasts', b, () => reached(b, true));
  const known = new Int32Array(model.chains);
  model.members[model.part[model.chain[b]]].forEach((/** @type {number} */ c, /** @type {number} */ at) => { known[c] = model.vectors[model.row[b] + at]; });
  known[model.chain[b]] = b - model.offset[model.chain[b]];
  return known;
}

/** Of each chain the index of the first event after a; its length where there is none. @param {number} a @returns {Int32Array} */
function future(a) {
  const c = model.chain[a];
  if (!model.head.closed) return counted(d => prefix(d, i => !before(a, i)));
  if (!model.vectors) return remembered('futures', a, () => reached(a, false));
  const first = counted(d => model.offset[d + 1] - model.offset[d]), own = a - model.offset[c], at = model.place[c];
  for (const d of model.members[model.part[c]]) first[d] = d === c ? own + 1 : prefix(d, i => model.vectors[model.row[i] + at] <= own);
  return first;
}

/** The vector of what `of` says of each chain. @param {(chain: number) => number} of */
const counted = of => Int32Array.from({ length: model.chains }, (_, c) => of(c));

/** How many events of a chain, from the first, are so; none behind one that is not. @param {number} c @param {(i: number) => boolean} so */
function prefix(c, so) {
  let low = model.offset[c], high = model.offset[c + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (so(middle)) low = middle + 1; else high = middle;
  }
  return low - model.offset[c];
}

/** Past or future by way of the edges alone: those into the beginning of a chain stand together, as do those out of its end. */
function reached(/** @type {number} */ start, /** @type {boolean} */ back) {
  const home = model.chain[start];
  const ends = counted(c => back ? 0 : model.offset[c + 1] - model.offset[c]), done = Int32Array.from(ends), waiting = [home];
  ends[home] = start - model.offset[home] + (back ? 1 : 0);
  while (waiting.length) {
    const c = /** @type {number} */ (waiting.pop()), first = model.offset[c];
    const low = min(ends[c], done[c]), high = max(ends[c], done[c]), at = back ? model.into : model.from;
    done[c] = ends[c];
    for (let e = at[first + low]; e < at[first + high]; e++) {
      const i = back ? model.src[e] : model.dst[model.leaving[e]], d = model.chain[i], index = i - model.offset[d] + (back ? 1 : 0);
      if (back ? index > ends[d] : index < ends[d]) {
        ends[d] = index;
        waiting.push(d);
      }
    }
  }
  ends[home] = start - model.offset[home] + (back ? 0 : 1);
  return ends;
}

/** Something of an event, worked out once. @template T @param {string} what @param {number} i @param {() => T} make @returns {T} */
function remembered(what, i, make) {
  const memo = model.memo, known = memo[what] ??= new Map();
  if (!known.has(i)) {
    if (known.size >= REMEMBERED) known.delete(known.keys().next().value);
    known.set(i, make());
  }
  return known.get(i);
}

/** What a page of few events says of each two. @param {number} a @param {number} b @param {string} [of] @returns {Verdict} */
function fromTable(a, b, of = 'table') {
  const table = model.columns[of];
  if (!model.head.shortcuts) return IN_TABLE[nibble(table, a * model.n + b)];
  return a < b ? IN_TABLE[nibble(table, pairNumber(a, b, model.n))] : turned(IN_TABLE[nibble(table, pairNumber(b, a, model.n))]);
}

/** @param {Uint8Array} bytes @param {number} at */
const nibble = (bytes, at) => at & 1 ? bytes[at >> 1] & 15 : bytes[at >> 1] >> 4;

/** The place of a pair, the lesser number first, among all pairs. @param {number} a @param {number} b @param {number} n */
const pairNumber = (a, b, n) => a * (2 * n - a - 1) / 2 + b - a - 1;

/** Everything given of an event besides orders: for each other one the sign. @param {number} i @returns {Map<number, Verdict> | undefined} */
function givenOf(i) {
  const memo = model.memo;
  if (!memo.given) {
    memo.given = new Map();
    const put = (/** @type {number} */ a, /** @type {Verdict} */ sign, /** @type {number} */ b) => {
      for (const [one, other] of [[a, b], [b, a]]) {
        if (!memo.given.has(one)) memo.given.set(one, new Map());
        if (memo.given.get(one).get(other) !== '||') memo.given.get(one).set(other, sign);
      }
    };
    for (const [a, sign, b] of model.head.given) if (sign === '||' || sign === '<>') put(a, sign, b);
    for (const group of /** @type {number[][]} */ (Object.values(model.head.tokens))) {
      group.forEach((a, at) => group.slice(at + 1).forEach(b => put(a, '<>', b)));
    }
  }
  return memo.given.get(i);
}

/** Whether two events that are not ordered are concurrent by their clocks. @param {number} a @param {number} b */
function byClocks(a, b) {
  if (model.kind[a] & model.kind[b] & CLOCKED) return !model.run || model.run[a] === model.run[b];
  const beside = model.columns.beside;
  if (!beside) return false;
  const of = remembered('beside', -1, () => {
    const map = new Map();
    for (let at = 0; at < beside.length;) {
      const event = beside[at++], runs = beside[at++];
      map.set(event, beside.subarray(at, at += 2 * runs));
    }
    return map;
  });
  const within = (/** @type {Int32Array | undefined} */ runs, /** @type {number} */ i) => {
    for (let at = 0; runs && at < runs.length; at += 2) if (i >= runs[at] && i < runs[at] + runs[at + 1]) return true;
    return false;
  };
  return within(of.get(a), b) || within(of.get(b), a);
}

/**
 * How many events of each chain, from the first, have somebody beside a whom nothing relates to both: these are `?`
 * to a unless they are before it. Infinity for chains that nothing connects with a.
 */
function unknownTo(/** @type {number} */ a) {
  return remembered('unknown', a, () => {
    const far = Float64Array.from(model.part, one => one === model.part[model.chain[a]] ? 0 : Infinity), apart = model.columns.apart;
    for (let at = 0; at < apart.length; at++) {
      const e = apart[at], f = apart[at ^ 1];
      if (e !== a && !before(a, e)) continue;
      const known = past(f);
      known.forEach((count, c) => { if (count > far[c]) far[c] = count; });
      far[model.chain[f]] = max(far[model.chain[f]], f - model.offset[model.chain[f]] + 1);
    }
    return far;
  });
}

/** Whether two events that are not ordered are `?`, where nothing but orders is given. @param {number} a @param {number} b */
function isUnknown(a, b) {
  const c = model.chain[b];
  return model.part[model.chain[a]] !== model.part[c] || (model.columns.apart.length > 0 && unknownTo(a)[c] > b - model.offset[c]);
}

/** What is known of two events; `a` stands on the left of the sign. @param {number} a @param {number} b @returns {Verdict} */
function verdict(a, b) {
  if (model.columns.table) return fromTable(a, b);
  if (before(a, b)) return '<';
  if (before(b, a)) return '>';
  if (model.head.shortcuts) {
    if (byClocks(a, b)) return '||';
    const given = givenOf(a)?.get(b);
    if (given) return given;
    if (model.columns.apart) return isUnknown(a, b) ? '?' : 'silent';
  }
  const said = pairSaid(a, b);
  return said ? said.verdict : 'unsaid';
}

/** What the head says of a pair that was asked for. @param {number} a @param {number} b @returns {{verdict: Verdict, left: string[]|null}|null} */
function pairSaid(a, b) {
  for (const [x, y, sign, left] of model.head.pairs) {
    if (x === a && y === b) return { verdict: sign, left };
    if (x === b && y === a) return { verdict: turned(sign), left: left && left.map(turned) };
  }
  return null;
}

/** The light cone of an event. @param {number} a */
function cone(a) { return { past: past(a), future: future(a) }; }

/**
 * How many events stand how to a, and the sign of each: `sign(i)` is the verdict on i and a, in this order.
 * @param {number} a
 */
function regions(a) {
  return remembered('regions', a, () => {
    const counts = { '<': 0, '>': 0, '||': 0, '<>': 0, '?': 0, silent: 0, unsaid: 0 };
    // What is remembered of a serves all; under other rules a pair may be said in two ways.
    const sign = (/** @type {number} */ i) => model.head.shortcuts ? turned(verdict(a, i)) : verdict(i, a);
    const alike = !model.columns.table && !model.columns.beside && model.head.shortcuts && !givenOf(a) && !model.head.pairs.length && !model.run;
    if (!alike) {
      for (let i = 0; i < model.n; i++) if (i !== a) counts[sign(i)]++;
      return { counts, sign };
    }
    const { past: low, future: high } = cone(a), far = model.columns.apart ? unknownTo(a) : null;
    const clocked = remembered('clocked', -1, () => {
      const sum = new Int32Array(model.n + 1);
      for (let i = 0; i < model.n; i++) sum[i + 1] = sum[i] + (model.kind[i] & CLOCKED ? 1 : 0);
      return sum;
    });
    for (let c = 0; c < model.chains; c++) {
      const first = model.offset[c], length = model.offset[c + 1] - first, open = high[c] - low[c] - (c === model.chain[a] ? 1 : 0);
      counts['<'] += low[c];
      counts['>'] += length - high[c];
      const beside = model.kind[a] & CLOCKED && c !== model.chain[a] ? clocked[first + high[c]] - clocked[first + low[c]] : 0;
      counts['||'] += beside;
      const unknown = far && open ? max(0, min(far[c], high[c]) - low[c]) : 0;
      counts['?'] += unknown;
      counts[far ? 'silent' : 'unsaid'] += open - beside - unknown;
    }
    return { counts, sign };
  });
}

/** Which of `<`, `>` and `||` may be of two events; null where the file does not have it. @param {number} a @param {number} b @returns {string[] | null} */
function possibilities(a, b) {
  const sign = verdict(a, b);
  if (model.columns.left) {
    const [x, y] = a < b ? [a, b] : [b, a], bits = nibble(model.columns.left, pairNumber(x, y, model.n));
    const left = ['<', '>', '||'].filter((_, bit) => bits >> bit & 1);
    return a < b ? left : ['<', '>', '||'].filter(one => left.includes(turned(/** @type {Verdict} */ (one))));
  }
  if (model.head.consistent !== false && (sign === '<' || sign === '>' || sign === '||')) return [sign];
  return pairSaid(a, b)?.left ?? null;
}
