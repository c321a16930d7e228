/*
 * Why two events are ordered, and what could order them: the way along what is given, the proof that it is, and the
 * ends of lost messages that may lie in a gap of the log.
 */

/** A longer way is shown, and not proved here: the command does that. */
const PROVED_LINKS = 2000;

/** So many observations are told. */
const TOLD = 100;

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
