/*
 * Where everything stands: x of each event on the axis chosen, lanes and the tracks in them, and what is in view.
 * Nothing here looks at all events again once it is built: what a frame needs is found by halving.
 */

/**
 * @typedef {object} Places
 * @property {Float64Array} x of each event
 * @property {number} end the greatest x
 * @property {(x: number) => string} label what the axis says at x
 * @property {number} low what x of 0 is, and
 * @property {number} scale a unit of x, in microseconds where the axis is time
 * @property {Int32Array} events lane by lane, each lane's by x
 * @property {Int32Array} first where each lane begins in `events`
 * @property {Int32Array} track of each chain, within its lane
 * @property {Int32Array} tracks how many each lane has
 * @property {Int32Array} edges by their left end
 * @property {Int32Array} begun how many edges begin left of an x
 * @property {Int32Array} ended how many end left of it
 * @property {Float64Array} reach for each stretch of `edges` the rightmost end
 * @property {number} half how many leaves `reach` has
 */

/** The numbers from 0 to `count`. */
function upTo(/** @type {number} */ count) {
    const all = new Int32Array(count);
    for (let i = 0; i < count; i++) all[i] = i;
    return all;
}

/** x of every event, and what the axis says there: steps, places of lines, or time spread over as many units. */
function across(/** @type {string} */ axis) {
    if (axis === 'steps' || !model.n) return {x: app.state.fold ? foldedSteps() : Float64Array.from(model.step), label: String, low: 0, scale: 1};
    const {files} = model.head, time = axis === 'time', value = new Float64Array(model.n), x = new Float64Array(model.n);
    for (let i = 0; i < model.n; i++) value[i] = time ? model.time(i) : files.indexOf(model.file(i)) * 1e9 + model.line(i);
    const order = upTo(model.n).sort((i, j) => value[i] - value[j] || i - j);
    const low = value[order[0]], units = max(1, model.n - 1), scale = (value[order[model.n - 1]] - low) / units || 1;
    order.forEach((event, rank) => { x[event] = time ? (value[event] - low) / scale : rank; });
    return {x, low: time ? low : 0, scale: time ? scale : 1, label: time ? (/** @type {number} */ at) => clock(low + at * scale, scale * units)
        : (/** @type {number} */ at) => String(model.line(order[round(at)]))};
}

/** Steps as they are where plain ones are folded: these stand together, half a step before what comes after them. */
function foldedSteps() {
    const x = new Float64Array(model.n);
    for (const i of model.causal) {
        const own = i > model.offset[model.chainOf(i)];
        let step = own ? Math.ceil(x[i - 1]) + (model.plain(i - 1) ? 0 : 1) : 0;
        for (const edge of model.in(i)) step = max(step, x[model.src[edge]] + 1);
        x[i] = model.plain(i) ? step - 0.5 : step || own ? step : model.step[i];
    }
    return x;
}

/** Runs of plain steps: how many, by the first of each. */
function foldedRuns() {
    /** @type {Map<number, number>} */
    const runs = new Map();
    for (let i = 0, first = -1; i < model.n; i++) {
        if (!model.plain(i)) continue;
        if (!model.plain(i - 1) || model.chainOf(i - 1) !== model.chainOf(i)) first = i;
        runs.set(first, (runs.get(first) ?? 0) + 1);
    }
    return runs;
}

/** A moment in microseconds, as finely as the whole stretch wants it; what is no date as the number that it is. */
function clock(/** @type {number} */ moment, /** @type {number} */ stretch) {
    if (!(moment >= 1e14 && moment < 8e18)) return +(moment / 1e6).toPrecision(7) + (moment < 8e18 ? ' s' : '');
    const said = new Date(moment / 1000).toISOString();
    return stretch > 3e11 ? said.slice(0, 10) : stretch > 1e8 ? said.slice(11, 19) : said.slice(11, 23);
}

/** The first place of the stretch from `low` to `high` of `events` that is not left of `at`. */
function firstAt(/** @type {Int32Array} */ events, /** @type {number} */ at, /** @type {number} */ low, /** @type {number} */ high) {
    const {x} = scene.at;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (x[events[middle]] < at) low = middle + 1; else high = middle;
    }
    return low;
}

/** The numbers up to `count` by what `of` says of each, less than `most`, in their order; and where those of each begin. Cost: linear. */
function grouped(/** @type {number} */ count, /** @type {number} */ most, /** @type {(i: number) => number} */ of) {
    const first = new Int32Array(most + 1), items = new Int32Array(count);
    for (let i = 0; i < count; i++) first[of(i) + 1]++;
    for (let at = 0; at < most; at++) first[at + 1] += first[at];
    const next = first.slice();
    for (let i = 0; i < count; i++) items[next[of(i)]++] = i;
    return {items, first};
}

/** Groups events by lane, each lane's by x. Cost: linear, where they come sorted. */
function byLane(/** @type {ArrayLike<number>} */ members, /** @type {Float64Array} */ x) {
    const lanes = model.head.lanes.length, {items, first} = grouped(members.length, lanes, (at) => model.lane(members[at]));
    const events = items.map((at) => members[at]);
    for (let lane = 0; lane < lanes; lane++) {
        const mine = events.subarray(first[lane], first[lane + 1]);
        if (mine.some((i, at) => at && x[mine[at - 1]] > x[i])) mine.sort((i, j) => x[i] - x[j] || i - j);
    }
    return {events, first};
}

/**
 * The places of one axis. Cost: linear, and a sort of the lanes that hold several chains.
 * @returns {Places}
 */
function places(/** @type {string} */ axis) {
    const {x, ...said} = across(axis), all = upTo(model.n), {events, first} = byLane(app.state.fold ? all.filter((i) => !model.plain(i)) : all, x);
    let end = 0;
    for (let i = 0; i < model.n; i++) if (x[i] > end) end = x[i];
    return {x, end, ...said, events, first, ...tracked(x), ...spanned(x, end)};
}

/** A track for each chain: chains of a lane share one where they do not overlap; at most twelve. */
function tracked(/** @type {Float64Array} */ x) {
    const count = model.laneOf.length;
    const track = new Int32Array(count), tracks = new Int32Array(model.head.lanes.length).fill(1);
    const chains = upTo(count).sort((c, d) => x[model.offset[c]] - x[model.offset[d]] || c - d);
    /** @type {Map<number, number[]>} */
    const busy = new Map();
    for (const c of chains) {
        const until = busy.get(model.laneOf[c]) || busy.set(model.laneOf[c], []).get(model.laneOf[c]) || [];
        let free = until.findIndex((right) => right < x[model.offset[c]]);
        if (free < 0) free = until.length < 12 ? until.length : c % 12;
        until[free] = max(until[free] ?? -1, x[model.offset[c + 1] - 1]);
        track[c] = free;
        tracks[model.laneOf[c]] = until.length;
    }
    return {track, tracks};
}

/** The edges by their left end, with what finds those that cross a stretch of x. Cost: linear. */
function spanned(/** @type {Float64Array} */ x, /** @type {number} */ end) {
    const count = model.src.length, size = floor(end) + 2;
    const place = (/** @type {(...of: number[]) => number} */ which) => (/** @type {number} */ e) => floor(which(x[model.src[e]], x[model.dst[e]]));
    const {items: edges, first: begun} = grouped(count, size, place(min)), ended = grouped(count, size, place(max)).first;
    let half = 1;
    while (half < count) half *= 2;
    const reach = new Float64Array(2 * half).fill(-1);
    for (let at = 0; at < count; at++) reach[half + at] = max(x[model.src[edges[at]]], x[model.dst[edges[at]]]);
    for (let node = half - 1; node > 0; node--) reach[node] = max(reach[2 * node], reach[2 * node + 1]);
    return {edges, begun, ended, reach, half};
}

/** How many edges cross the stretch from `left` to `right`, to the unit. Cost: constant. */
function crossing(/** @type {Places} */ at, /** @type {number} */ left, /** @type {number} */ right) {
    const last = at.begun.length - 1, clamp = (/** @type {number} */ x) => max(0, min(last, floor(x)));
    return at.begun[clamp(right + 1)] - at.ended[clamp(left)];
}

/** Calls `each` with the edges that cross the stretch. Cost: those edges, times a logarithm. */
function cross(/** @type {Places} */ at, /** @type {number} */ left, /** @type {number} */ right,
    /** @type {(edge: number) => void} */ each) {
    const limit = at.begun[max(0, min(at.begun.length - 1, floor(right) + 1))];
    const open = [1], low = [0], size = [at.half];
    while (open.length) {
        const node = /** @type {number} */ (open.pop()), from = /** @type {number} */ (low.pop());
        const wide = /** @type {number} */ (size.pop());
        if (from >= limit || at.reach[node] < left) continue;
        if (wide === 1) { each(at.edges[from]); continue; }
        open.push(2 * node + 1, 2 * node);
        low.push(from + wide / 2, from);
        size.push(wide / 2, wide / 2);
    }
}

/**
 * Calls `each` with the events of a lane from `left` to `right`, none nearer than `apart` to the one before:
 * so what is drawn of a stretch is bounded by its width, however many events there are.
 */
function along(/** @type {{events: Int32Array, first: Int32Array}} */ {events, first}, /** @type {number} */ lane,
    /** @type {number} */ left, /** @type {number} */ right, /** @type {number} */ apart, /** @type {(event: number) => void} */ each) {
    const stop = first[lane + 1], {x} = scene.at;
    let at = firstAt(events, left, first[lane], stop);
    while (at < stop && x[events[at]] <= right) {
        const next = x[events[at]] + apart;
        each(events[at++]);
        if (apart > 0) at = firstAt(events, next, at, stop);
    }
}

/** How many events of a lane each bin holds, `bins` of them from `left`, each `wide`. Cost: bins, by halving. */
function density(/** @type {Places} */ at, /** @type {number} */ lane, /** @type {number} */ left,
    /** @type {number} */ wide, /** @type {number} */ bins) {
    const counts = new Uint32Array(bins), stop = at.first[lane + 1];
    let low = firstAt(at.events, left, at.first[lane], stop);
    for (let bin = 0; bin < bins && low < stop; bin++) {
        const edge = left + (bin + 1) * wide;
        if (at.x[at.events[low]] >= edge) continue;
        let leap = 1;
        while (low + leap < stop && at.x[at.events[low + leap]] < edge) leap *= 2;
        const next = firstAt(at.events, edge, low + (leap >> 1), min(stop, low + leap));
        counts[bin] = next - low;
        low = next;
    }
    return counts;
}

/** The rows as they are shown: y of the middle of each lane, its height, -1 for a hidden one. */
function rows(/** @type {Places} */ at, /** @type {number} */ height) {
    const lanes = model.head.lanes.length, y = new Float64Array(lanes).fill(-1), tall = new Float64Array(lanes);
    const shown = Array.from(model.order).filter((lane) => !app.state.hidden.has(lane));
    const weights = shown.reduce((sum, lane) => sum + weight(at.tracks[lane]), 0) || 1;
    const unit = max(12, min(170, height / weights));
    let top = 0;
    for (const lane of shown) {
        tall[lane] = unit * weight(at.tracks[lane]);
        y[lane] = top + tall[lane] / 2;
        top += tall[lane];
    }
    return {y, tall, unit, shown, height: top};
}

/** How tall a lane of so many tracks is, beside one of a single track. */
function weight(/** @type {number} */ tracks) {
    return 1 + (tracks - 1) * 0.3;
}
