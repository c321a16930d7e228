/*
 * Where everything stands: x of each event on the axis chosen, lanes and the tracks in them, and what is in view.
 * Nothing here looks at all events again once it is built: what a frame needs is found by halving.
 */

/** Numbers, group by group, and where each group begins. @typedef {{items: Int32Array<any>, first: Int32Array<any>}} Grouped */

/** The numbers from 0 to `count`. */
function upTo(/** @type {number} */ count) {
    return new Int32Array(count).map((_, i) => i);
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
function firstAt(/** @type {Int32Array} */ events, /** @type {number} */ at, low = 0, high = events.length) {
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (scene.x[events[middle]] < at) low = middle + 1; else high = middle;
    }
    return low;
}

/** The numbers up to `count` by what `of` says of each, less than `most`, in their order; and where those of each begin. Cost: linear. @returns {Grouped} */
function grouped(/** @type {number} */ count, /** @type {number} */ most, /** @type {(i: number) => number} */ of) {
    const first = new Int32Array(most + 1), items = new Int32Array(count);
    for (let i = 0; i < count; i++) first[of(i) + 1]++;
    for (let at = 0; at < most; at++) first[at + 1] += first[at];
    const next = first.slice();
    for (let i = 0; i < count; i++) items[next[of(i)]++] = i;
    return {items, first};
}

/** The numbers of a group. */
function groupOf(/** @type {Grouped} */ {items, first}, /** @type {number} */ at) {
    return items.subarray(first[at], first[at + 1]);
}

/** Groups events by lane, each lane's by x. Cost: linear, where they come sorted. */
function byLane(/** @type {ArrayLike<number>} */ members) {
    const lanes = model.lanes.length, found = grouped(members.length, lanes, (at) => model.lane(members[at]));
    found.items.forEach((at, i) => { found.items[i] = members[at]; });
    for (let lane = 0; lane < lanes; lane++) {
        const mine = groupOf(found, lane);
        if (mine.some((i, at) => at && scene.x[mine[at - 1]] > scene.x[i])) mine.sort((i, j) => scene.x[i] - scene.x[j] || i - j);
    }
    return found;
}

/** Places all on the axis chosen. Cost: linear, and a sort of the lanes that hold several chains. */
function place() {
    ({x: scene.x, label: scene.label, low: scene.low, scale: scene.scale} = across(app.state.axis));
    const all = upTo(model.n);
    scene.events = byLane(app.state.fold ? all.filter((i) => !model.plain(i)) : all);
    scene.end = scene.x.reduce((end, x) => x > end ? x : end, 0);
    track();
    span();
}

/** A track for each chain: chains of a lane share one where they do not overlap; at most twelve. */
function track() {
    const count = model.laneOf.length;
    scene.track = new Int32Array(count);
    scene.tracks = new Int32Array(model.lanes.length).fill(1);
    const chains = upTo(count).sort((c, d) => scene.x[model.offset[c]] - scene.x[model.offset[d]] || c - d);
    /** @type {Map<number, number[]>} */
    const busy = new Map();
    for (const c of chains) {
        const until = busy.get(model.laneOf[c]) || busy.set(model.laneOf[c], []).get(model.laneOf[c]) || [];
        let free = until.findIndex((right) => right < scene.x[model.offset[c]]);
        if (free < 0) free = until.length < 12 ? until.length : c % 12;
        until[free] = max(until[free] ?? -1, scene.x[model.offset[c + 1] - 1]);
        scene.track[c] = free;
        scene.tracks[model.laneOf[c]] = until.length;
    }
}

/** Finds what tells the edges that cross a stretch of x. Cost: linear. */
function span() {
    const count = model.src.length, size = floor(scene.end) + 2;
    const over = (/** @type {(...of: number[]) => number} */ which) => (/** @type {number} */ e) => floor(which(scene.x[model.src[e]], scene.x[model.dst[e]]));
    ({items: scene.edges, first: scene.begun} = grouped(count, size, over(min)));
    scene.ended = grouped(count, size, over(max)).first;
    scene.half = 1;
    while (scene.half < count) scene.half *= 2;
    scene.reach = new Float64Array(2 * scene.half).fill(-1);
    scene.edges.forEach((edge, at) => { scene.reach[scene.half + at] = max(scene.x[model.src[edge]], scene.x[model.dst[edge]]); });
    for (let node = scene.half - 1; node > 0; node--) scene.reach[node] = max(scene.reach[2 * node], scene.reach[2 * node + 1]);
}

/** How many edges cross the stretch from `left` to `right`, to the unit. Cost: constant. */
function crossing(/** @type {number} */ left, /** @type {number} */ right) {
    const last = scene.begun.length - 1, clamp = (/** @type {number} */ x) => max(0, min(last, floor(x)));
    return scene.begun[clamp(right + 1)] - scene.ended[clamp(left)];
}

/** Calls `each` with the edges that cross the stretch. Cost: those edges, times a logarithm. */
function cross(/** @type {number} */ left, /** @type {number} */ right,
    /** @type {(edge: number) => void} */ each) {
    const limit = scene.begun[max(0, min(scene.begun.length - 1, floor(right) + 1))];
    const open = [1], low = [0], size = [scene.half];
    while (open.length) {
        const node = /** @type {number} */ (open.pop()), from = /** @type {number} */ (low.pop());
        const wide = /** @type {number} */ (size.pop());
        if (from >= limit || scene.reach[node] < left) continue;
        if (wide === 1) { each(scene.edges[from]); continue; }
        open.push(2 * node + 1, 2 * node);
        low.push(from + wide / 2, from);
        size.push(wide / 2, wide / 2);
    }
}

/**
 * Calls `each` with the events of a lane from `left` to `right`, none nearer than `apart` to the one before:
 * so what is drawn of a stretch is bounded by its width, however many events there are.
 */
function along(/** @type {Grouped} */ {items, first}, /** @type {number} */ lane,
    /** @type {number} */ left, /** @type {number} */ right, /** @type {number} */ apart, /** @type {(event: number) => void} */ each) {
    const stop = first[lane + 1];
    let at = firstAt(items, left, first[lane], stop);
    while (at < stop && scene.x[items[at]] <= right) {
        const next = scene.x[items[at]] + apart;
        each(items[at++]);
        if (apart > 0) at = firstAt(items, next, at, stop);
    }
}

/** How many events of a lane each bin holds, `bins` of them from `left`, each `wide`. Cost: bins, by halving. */
function density(/** @type {number} */ lane, /** @type {number} */ left,
    /** @type {number} */ wide, /** @type {number} */ bins) {
    const counts = new Uint32Array(bins), mine = groupOf(scene.events, lane), stop = mine.length;
    let low = firstAt(mine, left);
    for (let bin = 0; bin < bins && low < stop; bin++) {
        const edge = left + (bin + 1) * wide;
        if (scene.x[mine[low]] >= edge) continue;
        let leap = 1;
        while (low + leap < stop && scene.x[mine[low + leap]] < edge) leap *= 2;
        const next = firstAt(mine, edge, low + (leap >> 1), min(stop, low + leap));
        counts[bin] = next - low;
        low = next;
    }
    return counts;
}

/** Finds the rows as they are shown, from above. */
function newRows() {
    const lanes = model.lanes.length;
    scene.y = new Float64Array(lanes).fill(-1);
    scene.tall = new Float64Array(lanes);
    scene.shown = [...model.order].filter((lane) => !app.state.hidden.has(lane));
    const weights = scene.shown.reduce((sum, lane) => sum + weight(lane), 0) || 1;
    scene.unit = max(12, min(170, (size().height - RULER - 6) / weights));
    scene.deep = 0;
    for (const lane of scene.shown) {
        scene.tall[lane] = scene.unit * weight(lane);
        scene.y[lane] = scene.deep + scene.tall[lane] / 2;
        scene.deep += scene.tall[lane];
    }
}

/** How tall a lane is, by its tracks, beside one of a single track. */
function weight(/** @type {number} */ lane) {
    return 1 + (scene.tracks[lane] - 1) * 0.3;
}
