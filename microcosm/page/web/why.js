/*
 * Why two events are ordered, and why they cannot be: the way along what is given, the proof that it is, and the proof
 * that something cannot be.
 */

/** A longer way is shown, and not proved here: the command does that. */
const PROVED_LINKS = 2000;

/** Whether a link of a chain, or an edge, may be given by clocks alone. @param {number} from @param {number} to @param {number} edge */
function clocksAlone(from, to, edge) {
  const timed = CLOCKED | TIMED;
  return edge >= 0 ? model.why[edge] === 2 : Boolean(model.kind[from] & timed && model.kind[to] & timed);
}

/**
 * A shortest way from a to b along what is given: events, each with the edge that leads to it, -1 along a chain. Null
 * where a is not before b.
 * @param {number} a @param {number} b @returns {{event: number, edge: number}[] | null}
 */
function path(a, b) {
  if (!model.head.closed || !before(a, b)) return null;
  const within = past(b), parent = new Int32Array(model.n).fill(-1), by = new Int32Array(model.n).fill(-1);
  let level = [a];
  parent[a] = a;
  const reach = (/** @type {number} */ v, /** @type {number} */ w, /** @type {number} */ edge, /** @type {number[]} */ next) => {
    if (parent[w] >= 0 || (w !== b && w - model.offset[model.chain[w]] >= within[model.chain[w]])) return;
    parent[w] = v;
    by[w] = edge;
    next.push(w);
  };
  while (parent[b] < 0) {
    /** @type {number[]} */
    const next = [];
    for (const v of level) {
      if (v + 1 < model.offset[model.chain[v] + 1]) reach(v, v + 1, -1, next);
      for (let at = model.from[v]; at < model.from[v + 1]; at++) reach(v, model.dst[model.leaving[at]], model.leaving[at], next);
    }
    level = next;
  }
  const found = [];
  for (let v = b; v !== a; v = parent[v]) found.push({ event: v, edge: by[v] });
  return [...found, { event: a, edge: -1 }].reverse();
}

/**
 * The proof of the verdict on two events, as `online --json` has it, with the source of each leaf: out of the file,
 * else for an order the way from one to the other nested as In-Tr. Null where clocks would have to be shown.
 * @param {number} a @param {number} b @returns {any}
 */
function proofOf(a, b) {
  const kept = model.columns.proofs;
  const known = kept?.[`${a},${b}`] ?? kept?.[`${b},${a}`];
  if (known || !model.head.shortcuts) return known ?? null;
  const way = path(a, b) ?? path(b, a);
  if (!way || way.length > PROVED_LINKS) return null;
  const leaves = [];
  for (let at = 1; at < way.length; at++) {
    if (clocksAlone(way[at - 1].event, way[at].event, way[at].edge)) return null;
    leaves.push(leafOf(way[at - 1].event, way[at].event, way[at].edge));
  }
  const nested = nest(leaves);
  return { rule: 'In-OK', conclusion: { ...nested.conclusion, judgement: 'online' }, premises: [nested] };
}

/** Links as a tree of little height. @param {any[]} parts @returns {any} */
function nest(parts) {
  if (parts.length === 1) return parts[0];
  const half = parts.length >> 1, premises = [nest(parts.slice(0, half)), nest(parts.slice(half))];
  const [{ conclusion: { left } }, { conclusion: { right } }] = premises;
  return { rule: 'In-Tr', conclusion: { judgement: 'initial', left, relation: '<', right }, premises };
}

/** The step that rests on what is given of two events. @param {number} from @param {number} to @param {number} edge */
function leafOf(from, to, edge) {
  const lane = model.lanes[model.lane(to)], why = edge >= 0 ? model.why[edge] : -1;
  const text = why === 0 ? `message ${model.message(to)}` : why < 0 && lane.known ? `process ${lane.name}` : null;
  const at = model.line(to) ? to : from, line = model.line(at) || null;
  return {
    rule: 'Init',
    conclusion: { judgement: 'initial', left: model.name(from), relation: '<', right: model.name(to) },
    premises: [],
    source: { file: line && model.file(at), line, text },
  };
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
