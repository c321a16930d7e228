// The model: what the file says, as typed arrays. Events are numbers 0..n-1, chain by chain.
//
// Decoding and what follows from it at once (a topological order, steps, vectors) is done by `unpack` in a worker
// made from its own text, or here where no worker can be made. Names, labels and messages stay UTF-8 bytes until
// somebody asks for one.

/** What the file says; null until it is read. Every part reads it. @type {any} */
let model = null;

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
 * @param {Record<string, string|Uint8Array>} texts base64 of gzip, or bytes, by column
 * @param {number} most so many numbers of vectors
 */
async function unpack(head, texts, most) {
  /** @param {string|Uint8Array} text */
  const bytesOf = async text => {
    if (typeof text !== 'string') return text;
    const raw = atob(text), packed = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  /** @type {Record<string, any>} */
  const columns = {}, raw = /** @type {Record<string, any>} */ ({});
  for (const { name, type, count } of head.columns) {
    const bytes = raw[name] = await bytesOf(texts[name]);
    if (type === 'u8') columns[name] = bytes;
    else if (type === 'json') columns[name] = JSON.parse(new TextDecoder().decode(bytes));
    else if (type === 'lines') {
      const at = new Uint32Array(count + 1);
      for (let i = 0, line = 1; line <= count; i++) if (bytes[i] === 10) at[line++] = i + 1;
      columns[name] = { bytes, at };
    } else {
      const found = name === 'time' ? new Float64Array(count) : new Int32Array(count);
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
  for (let c = 0; c < chains; c++) part[c] = root(c);
  for (let c = 0; c < chains; c++) place[c] = (members[part[c]] ??= []).push(c) - 1;

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
  return { columns, raw, n, chains, offset, chain, src, dst, why, into, from, leaving, order, step, part, place, members, row, vectors };
}

/** Unpack in a worker; the arrays come over without a copy. @param {Head} head @param {Record<string, string|Uint8Array>} texts */
function unpacked(head, texts) {
  const program = `onmessage = async ({data}) => {
    const found = await (${unpack})(...data), moved = new Set();
    const look = value => { if (ArrayBuffer.isView(value)) moved.add(value.buffer); else if (value && typeof value === 'object') Object.values(value).forEach(look); };
    look(found);
    postMessage(found, [...moved]);
  }`;
  return new Promise(resolve => {
    const here = () => resolve(unpack(head, texts, VECTORS));
    try {
      const address = URL.createObjectURL(new Blob([program], { type: 'text/javascript' }));
      const worker = new Worker(address);
      worker.onmessage = ({ data }) => { resolve(data); worker.terminate(); URL.revokeObjectURL(address); };
      worker.onerror = here;
      worker.postMessage([head, texts, VECTORS]);
    } catch { here(); }
  });
}

/** The head and the columns that stand in this document, which are taken out of it. */
function readDocument() {
  const head = JSON.parse(find('head').textContent);
  /** @type {Record<string, string>} */
  const texts = {};
  for (const { name } of head.columns) {
    const element = find(`col-${name}`);
    texts[name] = element.textContent;
    element.remove();
  }
  return { head, texts };
}

/** What the file says. @returns {Promise<Model>} */
async function readModel() {
  const { head, texts } = await (app.read ?? readDocument)();
  return new Model(head, await unpacked(head, texts));
}

class Model {
  /** @param {Head} head @param {any} found what `unpack` found */
  constructor(head, found) {
    const { columns } = found;
    this.head = head;
    this.n = found.n;
    this.chains = { offset: found.offset, lane: Int32Array.from(head.chains.lane) };
    this.edges = { src: found.src, dst: found.dst, why: found.why, by: columns.by ?? null };
    /** Of two microcosms, who names an event and who is given what links it to the one before it: 1, 2 or both bits. */
    this.who = columns.who ?? null;
    this.link = columns.link ?? null;
    this.kind = columns.kind;
    this.step = found.step;
    this.causal = found.order;
    this.run = columns.run ?? null;
    this.columns = columns;
    this.order = Int32Array.from(head.order);
    this.rows = new Int32Array(head.lanes.length);
    this.found = found;
    this.arrange(this.order);
    /** @type {Map<string, number> | null} */
    this.byName = null;
    /** What verdicts.js remembers. @type {Record<string, any>} */
    this.memo = {};
    this.apartFrom();
  }

  /** Lanes from above. @param {ArrayLike<number>} order */
  arrange(order) {
    this.order = Int32Array.from(order);
    this.order.forEach((lane, row) => { this.rows[lane] = row; });
  }

  /** The row of a lane. @param {number} lane */
  row(lane) { return this.rows[lane]; }

  /** @param {number} i */
  chainOf(i) { return this.found.chain[i]; }

  /** @param {number} i */
  lane(i) { return this.chains.lane[this.found.chain[i]]; }

  /** Events that nothing relates stand side by side: each has a step of its own on its lane. */
  apartFrom() {
    const { offset, lane } = this.chains, { into, from } = this.found, used = new Map();
    for (let c = 0; c < lane.length; c++) {
      const i = offset[c];
      if (offset[c + 1] !== i + 1 || into[i] !== into[i + 1] || from[i] !== from[i + 1]) continue;
      const at = used.get(lane[c]) ?? 0;
      this.step[i] = at;
      used.set(lane[c], at + 1);
    }
  }

  /** Whether an event is only a step of its process: no message, nothing given, missing or odd. @param {number} i */
  plain(i) {
    const {into, from} = this.found, c = this.chainOf(i), {offset} = this.chains;
    return !(this.kind[i] & 111) && into[i] === into[i + 1] && from[i] === from[i + 1] && offset[c + 1] - offset[c] > 1;
  }

  /** The edges that leave an event, without that to the next of its chain. @param {number} i */
  *out(i) {
    const { from, leaving } = this.found;
    for (let at = from[i]; at < from[i + 1]; at++) yield leaving[at];
  }

  /** The edges that lead to an event, without that from the one before it on its chain. @param {number} i */
  *in(i) {
    const { into } = this.found;
    for (let e = into[i]; e < into[i + 1]; e++) yield e;
  }

  /** @param {string} column @param {number} i @returns {string} */
  text(column, i) {
    const texts = this.columns[column], of = this.columns[`${column}.of`], numbers = this.columns[`${column}.n`];
    if (!texts || numbers && numbers[i] === (numbers[i - 1] ?? 0)) return '';
    const number = numbers ? numbers[i] - 1 : '';
    i = numbers ? 0 : of ? of[i] : i;
    const line = DECODER.decode(texts.bytes.subarray(texts.at[i], texts.at[i + 1] - 1));
    return (line.includes('\\') ? line.replace(/\\(u[0-9a-f]{4}|.)/g, (_, said) =>
      said === 'n' ? '\n' : said === 'r' ? '\r' : said.length > 1 ? String.fromCharCode(parseInt(said.slice(1), 16)) : said) : line) + number;
  }

  /** @param {number} i */
  name(i) {
    return this.text('names', i) || (this.columns.seq ? `${this.head.lanes[this.lane(i)].name}:${this.columns.seq[i]}` : '');
  }

  /** What the log calls an event; empty where it says nothing. @param {number} i */
  label(i) { return this.text('labels', i); }

  /** What an event sends or receives; a reception says it where nothing leads there from a sending. @param {number} i @returns {string} */
  message(i) {
    const said = this.text('messages', i);
    if (said) return said;
    for (const e of this.in(i)) if (this.edges.why[e] === 0) return this.text('messages', this.edges.src[e]);
    return '';
  }

  /** The line of the log; 0 where nobody knows. @param {number} i */
  line(i) { return this.columns.line ? this.columns.line[i] : 0; }

  /** The file of the log; empty where nobody knows. @param {number} i */
  file(i) {
    const { files } = this.head;
    return this.columns.file ? files[this.columns.file[i]] : this.line(i) ? files[files.length - 1] : '';
  }

  /** Microseconds; NaN where the log does not tell all. @param {number} i */
  time(i) { return this.columns.time ? this.columns.time[i] : NaN; }

  /** The event of a name, or -1. @param {string} name */
  find(name) {
    if (!this.byName) {
      this.byName = new Map();
      for (let i = 0; i < this.n; i++) this.byName.set(this.name(i), i);
    }
    return this.byName.get(name) ?? -1;
  }
}
