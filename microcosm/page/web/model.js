// The model: what the file says, as typed arrays. Events are numbers 0..n-1, chain by chain.
//
// Decoding and what follows from it at once (a topological order, steps, vectors) is done by `unpack` in a worker
// made from its own text, or here where no worker can be made. Names, labels and messages stay UTF-8 bytes until
// somebody asks for one.

/**
 * @typedef {{name: string, type: string, count: number}} ColumnHead
 * @typedef {Record<string, any>} Head
 * @typedef {{bytes: Uint8Array, at: Uint32Array}} Texts
 */

/** So many numbers of vectors are kept (4 bytes each); a page that would need more works them out one by one. */
const VECTORS = 30e6;

/** Texts are what they are: a byte order mark that begins one is a part of it. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Everything that can be worked out before the page is shown. Self-contained: it is run as the text of a worker.
 * @param {Head} head
 * @param {Record<string, string>} texts base64 of gzip, by column
 * @param {number} most so many numbers of vectors
 */
async function unpack(head, texts, most) {
  /** @param {string} text */
  const bytesOf = async text => {
    const raw = atob(text), packed = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  /** @type {Record<string, any>} */
  const columns = {};
  for (const { name, type, count } of head.columns) {
    const bytes = await bytesOf(texts[name]);
    if (type === 'u8') columns[name] = bytes;
    else if (type === 'json') columns[name] = JSON.parse(new TextDecoder().decode(bytes));
    else if (type === 'lines') {
      const at = new Uint32Array(count + 1);
      for (let i = 0, line = 1; line <= count; i++) if (bytes[i] === 10) at[line++] = i + 1;
      columns[name] = { bytes, at };
    } else {
      const found = new (name === 'time' ? Float64Array : Int32Array)(count);
      for (let i = 0, at = 0; i < count; i++) {
        let number = 0, scale = 1, byte;
        do { byte = bytes[at++]; number += (byte & 127) * scale; scale *= 128; } while (byte > 127);
        found[i] = type === 'leb' ? number : number % 2 ? -(number + 1) / 2 : number / 2;
      }
      columns[name] = found;
    }
  }
  for (const name of ['dst', 'line', 'file', 'time', 'seq', 'messages.n']) {  // each is said by how much it is above the last
    const column = columns[name];
    for (let i = 1; column && i < column.length; i++) column[i] += column[i - 1];
  }

  const offset = Int32Array.from(head.chains.offset), chains = offset.length - 1, n = offset[chains];
  const chain = new Int32Array(n);
  for (let c = 0; c < chains; c++) chain.fill(c, offset[c], offset[c + 1]);
  const dst = columns.dst, why = columns.why, edges = dst.length, src = new Int32Array(edges);
  const into = new Int32Array(n + 1), from = new Int32Array(n + 1), leaving = new Int32Array(edges);
  for (let e = 0; e < edges; e++) {
    const b = dst[e], to = chain[b], of = to + columns.src[2 * e];
    src[e] = offset[of] + (b - offset[to]) + columns.src[2 * e + 1];
    into[b + 1]++;
    from[src[e] + 1]++;
  }
  for (let i = 0; i < n; i++) { into[i + 1] += into[i]; from[i + 1] += from[i]; }
  const next = from.slice(0, n);
  for (let e = 0; e < edges; e++) leaving[next[src[e]]++] = e;

  // Chain after chain goes on as far as it can: until an event waits for one that was not met yet.
  const order = new Int32Array(n), step = new Int32Array(n), met = new Uint8Array(n), reached = offset.slice(0, chains);
  const waiting = new Int32Array(n);  // of an event: how many chains wait for it, as a list linked through `queue`
  const first = new Int32Array(n).fill(-1), behind = new Int32Array(chains).fill(-1);
  const ready = new Int32Array(chains + 1);
  let count = 0, top = 0;
  for (let c = chains - 1; c >= 0; c--) ready[top++] = c;
  while (top) {
    const c = ready[--top];
    let i = reached[c];
    advance: for (; i < offset[c + 1]; i++) {
      let depth = i > offset[c] ? step[i - 1] + 1 : 0;
      for (let e = into[i]; e < into[i + 1]; e++) {
        const a = src[e];
        if (!met[a]) { behind[c] = first[a]; first[a] = c; break advance; }
        if (step[a] >= depth) depth = step[a] + 1;
      }
      step[i] = depth;
      met[i] = 1;
      order[count++] = i;
      for (let other = first[i]; other >= 0;) {
        const after = behind[other];
        ready[top++] = other;
        other = after;
      }
      first[i] = -1;
    }
    reached[c] = i;
  }

  // Chains that edges connect make a part; `place` is that of a chain in its part, which `members` lists.
  const part = Int32Array.from({ length: chains }, (_, c) => c), place = new Int32Array(chains);
  const root = (/** @type {number} */ c) => { while (part[c] !== c) c = part[c] = part[part[c]]; return c; };
  for (let e = 0; e < edges; e++) part[root(chain[src[e]])] = root(chain[dst[e]]);
  /** @type {number[][]} */
  const members = [];
  for (let c = 0; c < chains; c++) place[c] = (members[part[c] = root(c)] ??= []).push(c) - 1;

  // One vector for each run of events of a chain that hear of nothing new between them: where it begins.
  const row = new Int32Array(n);
  let size = 0, last = 0;
  for (let i = 0; i < n; i++) {
    if (i === offset[chain[i]] || into[i] < into[i + 1]) { last = size; size += members[part[chain[i]]].length; }
    row[i] = last;
  }
  const vectors = size <= most ? new Int32Array(size) : null;
  for (let k = 0; vectors && k < count; k++) {
    const i = order[k], c = chain[i], at = row[i], start = i === offset[c], wide = members[part[c]].length;
    if (!start && into[i] === into[i + 1]) continue;
    if (!start) vectors.copyWithin(at, row[i - 1], row[i - 1] + wide);
    for (let e = into[i]; e < into[i + 1]; e++) {
      const a = src[e], other = row[a], of = at + place[chain[a]], index = a - offset[chain[a]] + 1;
      for (let d = 0; d < wide; d++) if (vectors[other + d] > vectors[at + d]) vectors[at + d] = vectors[other + d];
      if (index > vectors[of]) vectors[of] = index;
    }
  }
  return { columns, n, chains, offset, chain, src, dst, why, into, from, leaving, causal: order, step, part, place, members, row, vectors };
}

/**
 * Sends what `work` makes of what it is sent, without a copy of its arrays. Self-contained, as `unpack` is.
 * @param {(...data: any[]) => any} work @param {any[]} data
 */
async function sent(work, data) {
  const found = await work(...data), moved = new Set();
  /** @param {any} value */
  const look = value => {
    if (ArrayBuffer.isView(value)) moved.add(value.buffer);
    else if (value && typeof value === 'object') Object.values(value).forEach(look);
  };
  look(found);
  postMessage(found, /** @type {any} */ ([...moved]));
}

/** Unpack in a worker, or here. @param {Head} head @param {Record<string, string>} texts */
function unpacked(head, texts) {
  return new Promise(resolve => {
    const data = /** @type {Parameters<typeof unpack>} */ ([head, texts, VECTORS]), here = () => resolve(unpack(...data));
    try {
      const address = URL.createObjectURL(new Blob([`onmessage=e=>(${sent})(${unpack},e.data)`], { type: 'text/javascript' }));
      const worker = new Worker(address);
      worker.onmessage = ({ data }) => { resolve(data); worker.terminate(); URL.revokeObjectURL(address); };
      worker.onerror = here;
      worker.postMessage(data);
    } catch { here(); }
  });
}

/** What the file says; nothing until `shown` has it. Every part reads it, by the names of its members. @type {any} */
const model = {
  /** @type {any} */ head: null,
  /** What is only in some files, see columns.py. */ columns: null,
  /** How many events, and how many chains. */ n: 0, chains: 0,
  /** Where each chain begins, and at last `n`; the chain of each event, the lane of each chain. */ offset: null, chain: null, laneOf: null,
  /** The edges, and why there is each. */ src: null, dst: null, why: null,
  /** Where the edges into each event begin; where those out of it begin in `leaving`. */ into: null, from: null, leaving: null,
  /** The events in an order that goes with time, and the steps that lead to each. */ causal: null, step: null,
  /** Chains that edges connect; the vectors over them, and where that of each event begins. */ part: null, place: null, members: null, row: null, vectors: null,
  kind: null, run: null,
  /** Of two microcosms, who names an event: 1, 2 or both bits. */ who: null,
  /** What the head says of each lane; lanes from above, and the row of each. */ lanes: null, order: null, rows: null,
  /** @type {Map<string, number> | null} */ byName: null,
  /** What verdicts.js remembers. @type {Record<string, any>} */ memo: {},

  /** Lanes from above. @param {ArrayLike<number>} order */
  arrange(order) {
    model.order = Int32Array.from(order);
    model.order.forEach((/** @type {number} */ lane, /** @type {number} */ row) => { model.rows[lane] = row; });
  },

  /** @param {number} i */
  chainOf(i) { return model.chain[i]; },

  /** @param {number} i */
  lane(i) { return model.laneOf[model.chain[i]]; },

  /** Whether nothing is given of an event but its place on its chain. @param {number} i */
  alone(i) { return model.into[i] === model.into[i + 1] && model.from[i] === model.from[i + 1]; },

  /** Whether an event is only a step of its process: no message, nothing given, missing or odd. @param {number} i */
  plain(i) {
    const c = model.chain[i];
    return !(model.kind[i] & 111) && model.alone(i) && model.offset[c + 1] - model.offset[c] > 1;
  },

  /** The edges that leave an event, without that to the next of its chain. @param {number} i @returns {number[]} */
  out(i) { return Array.from(model.leaving.subarray(model.from[i], model.from[i + 1])); },

  /** The edges that lead to an event, without that from the one before it on its chain. @param {number} i */
  in(i) { return Array.from({ length: model.into[i + 1] - model.into[i] }, (_, at) => model.into[i] + at); },

  /** @param {string} column @param {number} i @returns {string} */
  text(column, i) {
    const texts = model.columns[column], of = model.columns[`${column}.of`], numbers = model.columns[`${column}.n`];
    if (!texts || numbers && numbers[i] === (numbers[i - 1] ?? 0)) return '';
    const number = numbers ? numbers[i] - 1 : '';
    i = numbers ? 0 : of ? of[i] : i;
    const line = DECODER.decode(texts.bytes.subarray(texts.at[i], texts.at[i + 1] - 1));
    return line.replace(/\\(u.{4}|.)/g, said => JSON.parse(`"${said}"`)) + number;
  },

  /** @param {number} i */
  name(i) {
    return model.text('names', i) || (model.columns.seq ? `${model.lanes[model.lane(i)].name}:${model.columns.seq[i]}` : '');
  },

  /** What the log calls an event; empty where it says nothing. @param {number} i */
  label(i) { return model.text('labels', i); },

  /** What an event sends or receives; a reception says it where nothing leads there from a sending. @param {number} i @returns {string} */
  message(i) {
    return model.text('messages', i) || (model.in(i).filter((/** @type {number} */ e) => model.why[e] === 0).map((/** @type {number} */ e) => model.text('messages', model.src[e]))[0] ?? '');
  },

  /** The line of the log; 0 where nobody knows. @param {number} i */
  line(i) { return model.columns.line ? model.columns.line[i] : 0; },

  /** The file of the log; empty where nobody knows. @param {number} i */
  file(i) {
    const { files } = model.head;
    return model.columns.file ? files[model.columns.file[i]] : model.line(i) ? files[files.length - 1] : '';
  },

  /** Microseconds; NaN where the log does not tell all. @param {number} i */
  time(i) { return model.columns.time ? model.columns.time[i] : NaN; },

  /** The event of a name, or -1. @param {string} name */
  find(name) {
    if (!model.byName) {
      model.byName = new Map();
      for (let i = 0; i < model.n; i++) model.byName.set(model.name(i), i);
    }
    return model.byName.get(name) ?? -1;
  },
};

/** Has the model be what a head and what `unpack` found say. @param {Head} head @param {any} found */
function shown(head, found) {
  model.head = head;
  model.lanes = head.lanes;
  ({
    columns: model.columns, n: model.n, chains: model.chains, offset: model.offset, chain: model.chain, src: model.src, dst: model.dst, why: model.why,
    into: model.into, from: model.from, leaving: model.leaving, causal: model.causal, step: model.step, part: model.part, place: model.place,
    members: model.members, row: model.row, vectors: model.vectors,
  } = found);
  ({ kind: model.kind, run: model.run, who: model.who } = model.columns);
  model.laneOf = Int32Array.from(head.chains.lane);
  model.rows = new Int32Array(head.lanes.length);
  model.arrange(head.order);
  model.byName = null;
  model.memo = {};
  // Events that nothing relates stand side by side: each has a step of its own on its lane.
  const used = new Map();
  model.laneOf.forEach((/** @type {number} */ lane, /** @type {number} */ c) => {
    const i = model.offset[c], at = used.get(lane) ?? 0;
    if (model.offset[c + 1] !== i + 1 || !model.alone(i)) return;
    model.step[i] = at;
    used.set(lane, at + 1);
  });
}
