/*
 * The picture: lanes, events, the cone of A, rings, names, the cut. Every function draws with the pen that it is
 * handed: a canvas, or the recorder of share.js. A frame costs what is in view.
 */

/** Height of the axis above the lanes. */
const RULER = 26;
/** Beyond so many in view, messages are counted and not drawn. */
const MOST_ARROWS = 4000;
/** Beyond so many, they are drawn as lines without heads, and not bent. */
const MOST_HEADS = 700;

/** What a frame is drawn by: as `look` found it. */
const view = {
    x0: 0, k: 1, y0: 0, width: 0, height: 0,
    /** x at which something begins to be in view, and x at which it ends to be. */ left: 0, right: 0,
    /** Of which something is in view, from above. @type {number[]} */ lanes: [],
    /** Radius of an event. */ r: 0,
    /** How far from its middle an arrow ends. */ rim: 0,
};

/** What is kept from frame to frame: made anew when what it stands for changes. */
const scene = {
    /** x of each event, and the greatest. @type {Float64Array<any>} */ x: new Float64Array(0), end: 0,
    /** What the axis says at an x. @type {(x: number) => string} */ label: String,
    /** What x of 0 is, and a unit of x, in microseconds where the axis is time. */ low: 0, scale: 1,
    /** Events that are shown, by lane, each lane's by x. @type {Grouped} */ events: {items: new Int32Array(0), first: new Int32Array(1)},
    /** The track of each chain within its lane, and how many each lane has. */ track: new Int32Array(0), tracks: new Int32Array(0),
    /** The edges by their left end; how many begin left of an x, and how many end. */ edges: new Int32Array(0), begun: new Int32Array(0), ended: new Int32Array(0),
    /** For each stretch of `edges` the rightmost end; and how many leaves that has. */ reach: new Float64Array(0), half: 1,
    /** y of the middle of each lane, -1 for a hidden one, and its height; that of one with a single track; lanes from above; how deep they go. */
    y: new Float64Array(0), tall: new Float64Array(0), unit: 0, shown: /** @type {number[]} */ ([]), deep: 0,
    /** As the style sheet has them now. @type {Record<string, string>} */ colours: {}, family: '',
    /** Events with something missing or irregular, by lane. @type {any} */ marks: null,
    /** Events found, by lane. @type {any} */ found: null,
    /** Runs of steps that are folded, by lane, and how many each is. @type {any} */ folds: null, runs: new Map(),
    /** How many are missing before an event. @type {Map<number, number|null>} */ missing: new Map(),
    /** What is given beside orders, and what tokens say. @type {[number, string, number][]} */ given: [],
    /** Lanes that talk, with how often. @type {[number, number, number][]} */ talk: [],
    /** Offsets of arrows that go round an event, at the scale `bendsAt`. @type {Map<number, number>} */ bends: new Map(),
    bendsAt: '',
    /** Chains by lane. @type {Grouped} */ chains: {items: new Int32Array(0), first: new Int32Array(1)},
    /** Cones and signs beside A, and the path of the pair. @type {any} */ cone: null,
    /** The cone as it would be. @type {any} */ supposed: null,
    /** @type {(event: number) => string} */ sign: () => '',
    /** @type {{event: number, edge: number}[]} */ path: [],
    verdict: '',
};

const px = (/** @type {number} */ event) => (scene.x[event] - view.x0) * view.k;
const laneY = (/** @type {number} */ lane) => round(RULER + scene.y[lane] - view.y0) + 0.5;

/** y of a chain: its track, spread about the middle of its lane. */
function chainY(/** @type {number} */ chain) {
    const lane = model.laneOf[chain];
    return laneY(lane) + (scene.track[chain] - (scene.tracks[lane] - 1) / 2) * scene.tall[lane] * 0.8 / scene.tracks[lane];
}

const py = (/** @type {number} */ event) => chainY(model.chainOf(event));

/** How high the tint of a chain is. */
const bandOf = (/** @type {number} */ lane) => min(26, scene.tall[lane] / scene.tracks[lane] * 0.74);

const inRows = (/** @type {number} */ event) => scene.y[model.lane(event)] >= 0;

const chosen = (/** @type {number} */ event) => event === app.state.a || event === app.state.b;

/** Calls `each` with the events in view among those grouped by lane, none nearer than `apart` to the one before. */
function inView(/** @type {any} */ grouped, /** @type {number} */ apart, /** @type {(event: number, lane: number) => void} */ each) {
    for (const lane of view.lanes) along(grouped, lane, view.left, view.right, apart, (event) => each(event, lane));
}

/** Draws with less than full strength. */
function faint(/** @type {Pen} */ pen, /** @type {number} */ alpha, /** @type {() => void} */ draw) {
    pen.globalAlpha = alpha;
    draw();
    pen.globalAlpha = 1;
}

/** Draws the whole picture. */
function drawPicture(/** @type {Pen} */ pen) {
    look();
    const two = model.who && view.k >= 5, crowd = crossing(view.left, view.right);
    paint(pen, scene.colours.paper, 0, 0, view.width, view.height);
    pen.lineJoin = 'round';
    if (scene.cone) (two ? drawTones : drawTint)(pen);
    const arrows = () => {
        if (crowd <= MOST_ARROWS) drawArrows(pen, view.k >= 12 && crowd <= MOST_HEADS);
    };
    if (view.k < 5) arrows();
    for (const lane of view.lanes) drawLane(pen, lane);
    if (two) drawLinks(pen);
    if (view.k >= 5) arrows();
    drawGivens(pen);
    drawMissing(pen);
    if (app.state.cut && scene.cone) drawCut(pen);
    if (app.state.b >= 0) drawPair(pen);
    if (two) drawHalves(pen);
    else if (view.k >= 5) drawEvents(pen);
    drawRings(pen);
    if (view.k >= 42) drawNames(pen);
    if (scene.folds && view.k >= 12) drawFolds(pen);
    drawRuler(pen);
    if (crowd > MOST_ARROWS) drawTalk(pen, crowd);
}

/** Where a chain is the past of A, `from` and `to` a pixel, and where its future; NaN where it is neither. */
function edgesOfCone(/** @type {number} */ chain, cone = scene.cone) {
    const first = model.offset[chain], end = model.offset[chain + 1], past = cone.past[chain], future = cone.future[chain];
    return {
        past: past > first ? between(past - 1, 1, end - 1) : NaN, future: future < end ? between(future, -1, first) : NaN,
        first: between(first, -1, first), last: between(end - 1, 1, end - 1),
    };
}

/** The pixel half way to the event before or after, as far as that is not far; `last` has none. */
function between(/** @type {number} */ event, /** @type {number} */ way, /** @type {number} */ last) {
    const reach = min(14, view.k / 2), x = px(event);
    return x + way * min(reach, event === last ? reach : abs(px(event + way) - x) / 2);
}

/** The chains of a lane, in the order of their first events. */
function chainsOf(/** @type {number} */ lane) {
    return groupOf(scene.chains, lane);
}

/** Calls `each` with the chains of the lanes in view. */
function chainsIn(/** @type {(chain: number, lane: number, y: number) => void} */ each) {
    for (const lane of view.lanes) for (const chain of chainsOf(lane)) each(chain, lane, chainY(chain));
}

/** The past and the future of A in each lane, and where they end. */
function drawTint(/** @type {Pen} */ pen) {
    chainsIn((chain, lane, y) => {
        const alone = chainsOf(lane).length === 1, {past, future, first, last} = edgesOfCone(chain), high = bandOf(lane);
        const band = (/** @type {number} */ x1, /** @type {number} */ x2, /** @type {string} */ colour, /** @type {number} */ bar) => {
            const from = max(-2, x1), to = min(view.width + 2, x2);
            if (to > from) faint(pen, 0.15, () => paint(pen, colour, from, y - high / 2, to - from, high));
            if (bar > -2 && bar < view.width + 2) paint(pen, colour, bar - 0.75, y - high * 0.7, 1.5, high * 1.4);
        };
        band(alone ? -2 : first, past, scene.colours.before, past);
        band(future, alone ? view.width + 2 : last, scene.colours.after, future);
        if (!scene.supposed) return;
        const would = edgesOfCone(chain, scene.supposed);
        if (!(would.past <= past)) hatch(pen, past || first, would.past, y, high, scene.colours.before, view.width);
        if (!(would.future >= future)) hatch(pen, would.future, future || last, y, high, scene.colours.after, view.width);
    });
}

/** Slanted lines over a stretch of a lane: what would be past or future; nothing where it has no ends. */
function hatch(/** @type {Pen} */ pen, /** @type {number} */ left, /** @type {number} */ right, /** @type {number} */ y,
    /** @type {number} */ high, /** @type {string} */ colour, /** @type {number} */ width) {
    const from = max(-high, left), to = min(width + high, right);
    faint(pen, 0.6, () => stroked(pen, colour, 1, () => {
        for (let x = ceil((from - high) / 8) * 8; x < to; x += 8) {
            const low = max(0, from - x), top = min(high, to - x);
            if (top > low) through(pen, x + low, y + high / 2 - low, x + top, y + high / 2 - top);
        }
    }));
}

/** A lane's line, from its first event to its last; below five pixels a step, how dense it is. */
function drawLane(/** @type {Pen} */ pen, /** @type {number} */ lane) {
    if (scene.unit > 20) {
        const bottom = round(laneY(lane) + scene.tall[lane] / 2) - 0.5;
        faint(pen, 0.55, () => stroked(pen, scene.colours.rule, 1, () => through(pen, 0, bottom, view.width, bottom)));
    }
    if (view.k < 5) drawDensity(pen, lane);
    if (!model.lanes[lane].known) return;
    stroked(pen, scene.colours.lane, 1.2, () => {
        for (const chain of chainsOf(lane)) {
            const from = model.offset[chain], to = model.offset[chain + 1] - 1, y = chainY(chain), stretch = from === to ? 9 : 0;
            if (scene.x[to] < view.left || scene.x[from] > view.right) continue;
            through(pen, max(-4, px(from) - stretch), y, min(view.width + 4, px(to) + stretch), y);
        }
    });
}

/** A strip as high as the lane is dense, coloured where the past and the future of A are. */
function drawDensity(/** @type {Pen} */ pen, /** @type {number} */ lane) {
    const tall = min(24, scene.tall[lane] * 0.8) / 2, y = laneY(lane);
    const wide = max(1, ceil(2 / view.k)), left = floor(view.x0 / wide) * wide;
    const bins = ceil(view.width / view.k / wide) + 2, counts = density(lane, left, wide, bins);
    const full = wide * scene.tracks[lane], step = wide * view.k, start = (left - view.x0 - 0.5) * view.k;
    const tops = Array.from(counts, (count) => count && max(1.5, round(2 * tall * Math.sqrt(min(1, count / full))) / 2));
    const strip = (/** @type {number} */ x1, /** @type {number} */ x2, /** @type {string} */ colour) => {
        const from = max(0, round((x1 - start) / step)), to = min(bins, round((x2 - start) / step));
        faint(pen, 0.6, () => filled(pen, colour, () => {
            for (let bin = from; bin < to;) {
                let same = bin + 1;
                while (same < to && tops[same] === tops[bin]) same++;
                if (tops[bin]) pen.rect(start + bin * step, y - tops[bin], (same - bin) * step, 2 * tops[bin]);
                bin = same;
            }
        }));
    };
    if (!scene.cone || scene.tracks[lane] > 1) return strip(0, view.width, scene.colours.lane);
    let past = -1, future = view.width + 1;
    for (const chain of chainsOf(lane)) {
        const ends = edgesOfCone(chain);
        if (ends.past > past) past = ends.past;
        if (ends.future < future) future = ends.future;
    }
    strip(0, past, scene.colours.before);
    strip(past, future, scene.colours.lane);
    strip(future, view.width, scene.colours.after);
}

/** The events, one sign each: what it is beside A, or that it is. */
function drawEvents(/** @type {Pen} */ pen) {
    /** @type {Map<string, number[]>} */
    const groups = new Map();
    inView(scene.events, 0, (event) => {
        const sign = event === app.state.a ? '' : scene.sign(event);
        groups.get(sign)?.push(event) ?? groups.set(sign, [event]);
    });
    for (const [sign, events] of groups) glyphs(pen, sign, events, (event) => [px(event), py(event), view.r], true);
}

/** Signs of one kind, at once; `place` is the middle of one, and its radius. */
function glyphs(/** @type {Pen} */ pen, /** @type {string} */ sign, /** @type {number[]} */ events,
    /** @type {(event: number) => number[]} */ place, /** @type {any} */ marked) {
    const places = events.map(place);
    if (!FILLED.has(sign)) filled(pen, scene.colours.paper, () => { for (const [x, y, r] of places) disc(pen, x, y, r); });
    pen.beginPath();
    places.forEach(([x, y, r], at) => {
        if (marked) pen.mark?.(events[at]);
        outline(pen, sign, x, y, r);
    });
    finish(pen, sign, colourOf(sign), places[0][2]);
}

/** Rings about what is found, lit by a step of the proof, has the focus, or is A or B, at every scale. */
function drawRings(/** @type {Pen} */ pen) {
    const {a, b, focus, lit} = app.state;
    const ring = (/** @type {number} */ event) => disc(pen, px(event), py(event), view.r + 4);
    stroked(pen, scene.colours.ink, 1.5, () => {
        if (scene.found) inView(scene.found, view.k < 5 ? 3 / view.k : 0, ring);
        lit.filter(inRows).forEach(ring);
    });
    if (focus >= 0 && inRows(focus)) {
        const rim = 4 + (chosen(focus) ? 9.5 : max(4, view.r));
        const box = () => pen.rect(px(focus) - rim, py(focus) - rim, 2 * rim, 2 * rim);
        stroked(pen, scene.colours.paper, 5, box);
        stroked(pen, scene.colours.focus, 2, box);
    }
    font(pen, 12, 700);
    for (const event of [b, a]) {
        if (event < 0 || !inRows(event)) continue;
        const x = px(event), y = py(event), [fill, text] = event === a ? [scene.colours.ink, scene.colours.paper] : [scene.colours.paper, scene.colours.ink];
        framed(pen, fill, scene.colours.ink, 2, () => disc(pen, x, y, 9.5));
        write(pen, event === a ? 'A' : 'B', x, y + 0.5, text);
    }
}

/** Names beside their events: on the side that no arrow of theirs takes, and cut in the middle where the next name begins. */
function drawNames(/** @type {Pen} */ pen) {
    const size = scene.unit > 30 ? 12 : 10, close = scene.unit < 52;
    if (scene.unit < 16) return;
    /** How far names go on each side of each line. @type {Map<string, number>} */
    const taken = new Map();
    font(pen, size);
    inView(scene.events, 0, (event) => {
        const x = px(event), y = py(event), prefer = close ? -1 : sideOf(event), gap = gapAfter(event);
        let name = model.name(event).slice(0, 120), wide = pen.measureText(name).width;
        const room = (/** @type {number} */ side) => min(x - (taken.get(y + ' ' + side) ?? -1e9), side === gap.side ? gap.left - x : 1e9);
        const side = !close && room(prefer) < wide / 2 + 6 && room(-prefer) >= wide / 2 + 6 ? -prefer : prefer;
        const fits = min(close ? view.k - 10 : max(view.k * 1.7, 64), 2 * (room(side) - 6));
        if (fits < 18) return;
        if (wide > fits) {
            const letters = Array.from(name), kept = max(1, floor(letters.length * (fits - 8) / wide)), end = floor(kept / 2);
            name = [...letters.slice(0, kept - end), '…', ...letters.slice(letters.length - end)].join('');
            wide = pen.measureText(name).width;
        }
        const [rim, colour] = chosen(event) ? [9.5, scene.colours.ink] : [view.r, scene.colours.dim];
        const within = x < 0 || x > view.width ? x : max(wide / 2 + 2, min(view.width - wide / 2 - 2, x));
        taken.set(y + ' ' + side, within + wide / 2);
        write(pen, name, within, y + side * (rim + size * 0.5 + 7), colour, scene.colours.paper);
    });
}

/** How many steps are folded between two events. */
function drawFolds(/** @type {Pen} */ pen) {
    font(pen, 10);
    inView(scene.folds, 24 / view.k, (event) => {
        if (!chosen(event)) write(pen, numbered(scene.runs.get(event), view.k < 60 ? '' : 'step'), px(event), py(event), scene.colours.dim, scene.colours.paper);
    });
}

/** The side on which the words of a gap behind an event stand, and where they begin. */
function gapAfter(/** @type {number} */ event) {
    const next = event + 1;
    if (next >= model.n || !(model.kind[next] & 32) || model.chainOf(next) !== model.chainOf(event)) return {side: 0, left: 0};
    return {side: -sideOf(next), left: (max(px(event), px(next) - 90) + px(next)) / 2 - 32};
}

/** Where the name of an event stands: on the side of fewer arrows, above if that is all the same. */
function sideOf(/** @type {number} */ event) {
    const {a, b} = app.state, partner = event === a ? b : event === b ? a : -1;
    const away = (/** @type {number} */ other) => Math.sign(scene.y[model.lane(event)] - scene.y[model.lane(other)]);
    const side = (model.kind[event] & 4 ? -1 : model.kind[event] & 8 ? 1 : 0) + (partner >= 0 ? 9 * away(partner) : 0);
    return otherEnds(event).reduce((sum, other) => sum + away(other), side) > 0 ? 1 : -1;
}

/** The lanes cut where A ends to know: what lies beyond fades, the frontier is ringed. */
function drawCut(/** @type {Pen} */ pen) {
    const {a} = app.state, /** @type {number[]} */ line = [];
    chainsIn((chain, lane, y) => {
        const from = model.offset[chain], own = model.chainOf(a) === chain ? a : scene.cone.past[chain] - 1, known = own >= from;
        const x = known ? min(view.width + 2, px(own) + min(14, view.k / 2)) : -2, high = scene.tall[lane] / scene.tracks[lane];
        if (x < view.width) faint(pen, 0.7, () => paint(pen, scene.colours.paper, max(0, x), y - high / 2, view.width - max(0, x), high));
        line.push(x, y - high / 2, x, y + high / 2);
        if (known) stroked(pen, scene.colours.before, 2, () => disc(pen, px(own), y, view.r + 5));
    });
    stroked(pen, scene.colours.before, 2, () => through(pen, ...line));
}
