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

/**
 * What a frame is drawn by. @typedef {object} View
 * @property {number} x0 @property {number} k @property {number} y0
 * @property {number} width @property {number} height
 * @property {Record<string, string>} colours
 * @property {number} r radius of an event
 * @property {number} rim how far from its middle an arrow ends
 */

/** What is kept from frame to frame: made anew when what it stands for changes. */
const scene = {
    /** @type {Places} */ at: /** @type {any} */ (null),
    /** @type {ReturnType<typeof rows>} */ rows: /** @type {any} */ (null),
    /** @type {Record<string, string>} */ colours: {},
    /** Events with something missing or irregular, by lane. @type {any} */ marks: null,
    /** Events found, by lane. @type {any} */ found: null,
    /** @type {Uint8Array} */ ringed: new Uint8Array(0),
    /** How many are missing before an event. @type {Map<number, number|null>} */ missing: new Map(),
    /** What is given beside orders, and what tokens say. @type {[number, string, number][]} */ given: [],
    /** Lanes that talk, with how often. @type {[number, number, number][]} */ talk: [],
    /** Offsets of arrows that go round an event, at the scale `bendsAt`. @type {Map<number, number>} */ bends: new Map(),
    bendsAt: '',
    /** Chains by lane, and where each lane's begin in them. */ chains: new Int32Array(0), chainsFrom: new Int32Array(1),
    /** Cones and signs beside A, and the path of the pair. @type {any} */ cone: null,
    /** The cone as it would be. @type {any} */ supposed: null,
    /** @type {(event: number) => string} */ sign: () => '',
    /** @type {{event: number, edge: number}[]} */ path: [],
    verdict: '',
};

const px = (/** @type {View} */ view, /** @type {number} */ event) => (scene.at.x[event] - view.x0) * view.k;
const laneY = (/** @type {View} */ view, /** @type {number} */ lane) => Math.round(RULER + scene.rows.y[lane] - view.y0) + 0.5;

/** y of a chain: its track, spread about the middle of its lane. */
function chainY(/** @type {View} */ view, /** @type {number} */ chain) {
    const lane = model.chains.lane[chain], tracks = scene.at.tracks[lane];
    const apart = scene.rows.tall[lane] * 0.8 / tracks;
    return laneY(view, lane) + (scene.at.track[chain] - (tracks - 1) / 2) * apart;
}

const py = (/** @type {View} */ view, /** @type {number} */ event) => chainY(view, model.chainOf(event));

/** The lanes of which something is in view, top to bottom. */
function lanesIn(/** @type {View} */ view) {
    const {y, tall, shown} = scene.rows;
    return shown.filter((lane) => y[lane] + tall[lane] / 2 >= view.y0 - 1
        && y[lane] - tall[lane] / 2 <= view.y0 + view.height - RULER + 1);
}

/** Draws the whole picture. */
function drawPicture(/** @type {Pen} */ pen, /** @type {View} */ view) {
    const {state} = app, {colours, width, height, k} = view, lanes = lanesIn(view);
    const left = view.x0 - 12 / k, right = view.x0 + (width + 12) / k;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, height);
    pen.lineCap = 'butt';
    pen.lineJoin = 'round';
    const two = model.columns.who && k >= 5;
    if (scene.cone && two) drawTones(pen, view, lanes);
    else if (scene.cone) drawTint(pen, view, lanes);
    const crowd = crossing(scene.at, left, right), arrows = () => {
        if (crowd <= MOST_ARROWS) drawArrows(pen, view, left, right, k >= 12 && crowd <= MOST_HEADS);
    };
    if (k < 5) arrows();
    for (const lane of lanes) drawLane(pen, view, lane, left, right);
    if (two) drawLinks(pen, view, lanes, left, right);
    if (k >= 5) arrows();
    drawGivens(pen, view);
    drawMissing(pen, view, lanes, left, right);
    if (state.cut && scene.cone) drawCut(pen, view, lanes);
    if (state.b >= 0) drawPair(pen, view);
    if (two) drawHalves(pen, view, lanes, left, right);
    else if (k >= 5) drawEvents(pen, view, lanes, left, right);
    drawRings(pen, view, lanes, left, right);
    if (k >= 42) drawNames(pen, view, lanes, left, right);
    drawRuler(pen, view);
    if (crowd > MOST_ARROWS) drawTalk(pen, view, crowd);
}

/** Where a chain stops being past, and begins to be future: pixels, NaN where it never does. */
function edgesOfCone(/** @type {View} */ view, /** @type {number} */ chain, cone = scene.cone) {
    const [from, to] = [model.chains.offset[chain], model.chains.offset[chain + 1]];
    const past = cone.past[chain], future = cone.future[chain];
    const reach = Math.min(14, view.k / 2);
    const after = (/** @type {number} */ i) => px(view, i) + Math.min(reach, i + 1 < to ? (px(view, i + 1) - px(view, i)) / 2 : reach);
    const before = (/** @type {number} */ i) => px(view, i) - Math.min(reach, i > from ? (px(view, i) - px(view, i - 1)) / 2 : reach);
    return {
        past: past > from ? after(past - 1) : NaN, future: future < to ? before(future) : NaN,
        first: before(from), last: after(to - 1),
    };
}

/** The chains of a lane, in the order of their first events. */
function chainsOf(/** @type {number} */ lane) {
    return scene.chains.subarray(scene.chainsFrom[lane], scene.chainsFrom[lane + 1]);
}

/** The past and the future of A in each lane, and where they end. */
function drawTint(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes) {
    const {colours, width} = view;
    for (const lane of lanes) {
        const alone = chainsOf(lane).length === 1;
        for (const chain of chainsOf(lane)) {
            const {past, future, first, last} = edgesOfCone(view, chain), y = chainY(view, chain);
            const high = Math.min(26, scene.rows.tall[lane] / scene.at.tracks[lane] * 0.74);
            const band = (/** @type {number} */ x1, /** @type {number} */ x2, /** @type {string} */ colour, /** @type {number} */ bar) => {
                const from = Math.max(-2, x1), to = Math.min(width + 2, x2);
                pen.fillStyle = colour;
                pen.globalAlpha = 0.15;
                if (to > from) pen.fillRect(from, y - high / 2, to - from, high);
                pen.globalAlpha = 1;
                if (bar > -2 && bar < width + 2) pen.fillRect(bar - 0.75, y - high * 0.7, 1.5, high * 1.4);
            };
            if (!Number.isNaN(past)) band(alone ? -2 : first, past, colours.before, past);
            if (!Number.isNaN(future)) band(future, alone ? width + 2 : last, colours.after, future);
            if (!scene.supposed) continue;
            const would = edgesOfCone(view, chain, scene.supposed);
            if (would.past > past || Number.isNaN(past) && would.past) hatch(pen, Number.isNaN(past) ? first : past, would.past, y, high, colours.before, width);
            if (would.future && !(would.future >= future)) hatch(pen, would.future, Number.isNaN(future) ? last : future, y, high, colours.after, width);
        }
    }
}

/** Slanted lines over a stretch of a lane: what would be past or future. */
function hatch(/** @type {Pen} */ pen, /** @type {number} */ left, /** @type {number} */ right, /** @type {number} */ y,
    /** @type {number} */ high, /** @type {string} */ colour, /** @type {number} */ width) {
    const from = Math.max(-high, left), to = Math.min(width + high, right);
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let x = Math.ceil((from - high) / 8) * 8; x < to; x += 8) {
        const low = Math.max(0, from - x), top = Math.min(high, to - x);
        if (top <= low) continue;
        pen.moveTo(x + low, y + high / 2 - low);
        pen.lineTo(x + top, y + high / 2 - top);
    }
    pen.globalAlpha = 0.6;
    pen.stroke();
    pen.globalAlpha = 1;
}

/** A lane's line, from its first event to its last; below five pixels a step, how dense it is. */
function drawLane(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ lane, /** @type {number} */ left,
    /** @type {number} */ right) {
    const {colours, width, k} = view, known = model.head.lanes[lane].known;
    pen.strokeStyle = colours.rule;
    pen.lineWidth = 1;
    if (scene.rows.unit > 20) {
        const bottom = Math.round(laneY(view, lane) + scene.rows.tall[lane] / 2) - 0.5;
        pen.beginPath();
        pen.moveTo(0, bottom);
        pen.lineTo(width, bottom);
        pen.globalAlpha = 0.55;
        pen.stroke();
        pen.globalAlpha = 1;
    }
    if (k < 5) drawDensity(pen, view, lane);
    if (!known) return;
    pen.strokeStyle = colours.lane;
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (const chain of chainsOf(lane)) {
        const [from, to] = [model.chains.offset[chain], model.chains.offset[chain + 1]], y = chainY(view, chain);
        if (scene.at.x[to - 1] < left || scene.at.x[from] > right) continue;
        const stretch = to - from < 2 ? 9 : 0;
        pen.moveTo(Math.max(-4, px(view, from) - stretch), y);
        pen.lineTo(Math.min(width + 4, px(view, to - 1) + stretch), y);
    }
    pen.stroke();
}

/** A strip as high as the lane is dense, coloured where the past and the future of A are. */
function drawDensity(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ lane) {
    const {colours, width, k} = view, tall = Math.min(24, scene.rows.tall[lane] * 0.8) / 2, y = laneY(view, lane);
    const wide = Math.max(1, Math.ceil(2 / k)), left = Math.floor(view.x0 / wide) * wide;
    const bins = Math.ceil(width / k / wide) + 2, counts = density(scene.at, lane, left, wide, bins);
    const full = wide * scene.at.tracks[lane], step = wide * k, start = (left - view.x0 - 0.5) * k;
    const tops = Array.from(counts, (count) => count ? Math.max(1.5, Math.round(2 * tall * Math.sqrt(Math.min(1, count / full))) / 2) : 0);
    const strip = (/** @type {number} */ x1, /** @type {number} */ x2, /** @type {string} */ colour) => {
        const from = Math.max(0, Math.round((x1 - start) / step)), to = Math.min(bins, Math.round((x2 - start) / step));
        pen.beginPath();
        for (let bin = from; bin < to;) {
            let same = bin + 1;
            while (same < to && tops[same] === tops[bin]) same++;
            if (tops[bin]) pen.rect(start + bin * step, y - tops[bin], (same - bin) * step, 2 * tops[bin]);
            bin = same;
        }
        pen.fillStyle = colour;
        pen.globalAlpha = 0.6;
        pen.fill();
        pen.globalAlpha = 1;
    };
    if (!scene.cone || scene.at.tracks[lane] > 1) return strip(0, width, colours.lane);
    let past = -1, future = width + 1;
    for (const chain of chainsOf(lane)) {
        const ends = edgesOfCone(view, chain);
        if (ends.past > past) past = ends.past;
        if (ends.future < future) future = ends.future;
    }
    strip(0, past, colours.before);
    strip(past, future, colours.lane);
    strip(future, width, colours.after);
}

/** The events, one sign each: what it is beside A, or that it is. */
function drawEvents(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes,
    /** @type {number} */ left, /** @type {number} */ right) {
    /** @type {Map<string, number[]>} */
    const groups = new Map();
    for (const lane of lanes) {
        along(scene.at, scene.at.x, lane, left, right, 0, (event) => {
            const sign = event === app.state.a ? '' : scene.sign(event);
            const group = groups.get(sign);
            if (group) group.push(event); else groups.set(sign, [event]);
        });
    }
    for (const [sign, events] of groups) {
        if (!FILLED.has(sign)) {
            pen.beginPath();
            for (const event of events) disc(pen, px(view, event), py(view, event), view.r);
            pen.fillStyle = view.colours.paper;
            pen.fill();
        }
        pen.beginPath();
        for (const event of events) {
            if (pen.mark) pen.mark(event);
            outline(pen, sign, px(view, event), py(view, event), view.r);
        }
        finish(pen, sign, colourOf(view.colours, sign), view.r);
    }
}

/** Rings about what is found, lit by a step of the proof, has the focus, or is A or B, at every scale. */
function drawRings(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes,
    /** @type {number} */ left, /** @type {number} */ right) {
    const {state} = app, {colours, r} = view;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    if (scene.found) {
        for (const lane of lanes) {
            along(scene.found, scene.at.x, lane, left, right, view.k < 5 ? 3 / view.k : 0, (event) => {
                disc(pen, px(view, event), py(view, event), r + 4);
            });
        }
    }
    for (const event of state.lit) if (inRows(event)) disc(pen, px(view, event), py(view, event), r + 4);
    pen.stroke();
    if (state.focus >= 0 && inRows(state.focus)) {
        const x = px(view, state.focus), y = py(view, state.focus);
        const rim = 4 + (state.focus === state.a || state.focus === state.b ? 9.5 : Math.max(4, r));
        for (const [colour, width] of /** @type {[string, number][]} */ ([[colours.paper, 5], [colours.focus, 2]])) {
            pen.strokeStyle = colour;
            pen.lineWidth = width;
            pen.beginPath();
            pen.rect(x - rim, y - rim, 2 * rim, 2 * rim);
            pen.stroke();
        }
    }
    for (const [event, letter] of /** @type {[number, string][]} */ ([[state.b, 'B'], [state.a, 'A']])) {
        if (event < 0 || !inRows(event)) continue;
        const x = px(view, event), y = py(view, event);
        pen.beginPath();
        disc(pen, x, y, 9.5);
        pen.fillStyle = letter === 'A' ? colours.ink : colours.paper;
        pen.fill();
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 2;
        pen.stroke();
        pen.fillStyle = letter === 'A' ? colours.paper : colours.ink;
        pen.font = font(12, 700);
        pen.textAlign = 'center';
        pen.textBaseline = 'middle';
        pen.fillText(letter, x, y + 0.5);
    }
}

const inRows = (/** @type {number} */ event) => scene.rows.y[model.lane(event)] >= 0;

/** Names beside their events: on the side that no arrow of theirs takes, and cut where the next name begins. */
function drawNames(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes,
    /** @type {number} */ left, /** @type {number} */ right) {
    const size = scene.rows.unit > 30 ? 12 : 10, close = scene.rows.unit < 52;
    pen.font = font(size);
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    for (const lane of lanes) {
        if (scene.rows.unit < 16) continue;
        /** @type {Map<string, number>} */
        const taken = new Map();
        along(scene.at, scene.at.x, lane, left - 1, right + 1, 0, (event) => {
            const x = px(view, event), y = py(view, event), prefer = close ? -1 : sideOf(event), gap = gapAfter(view, event);
            let name = model.name(event).slice(0, 120), wide = pen.measureText(name).width;
            const room = (/** @type {number} */ side) => Math.min(x - (taken.get(y + ' ' + side) ?? -1e9), side === gap.side ? gap.left - x : 1e9);
            const side = close || room(prefer) >= wide / 2 + 6 ? prefer : room(-prefer) >= wide / 2 + 6 ? -prefer : prefer;
            const most = close ? view.k - 10 : Math.max(view.k * 1.7, 64);
            const fits = Math.min(most, 2 * (room(side) - 6));
            if (fits < 18) return;
            if (wide > fits) {
                const keep = Math.max(1, Math.floor(name.length * (fits - 8) / wide));
                name = Array.from(name).slice(0, keep).join('') + '…';
                wide = pen.measureText(name).width;
            }
            pen.fillStyle = event === app.state.a || event === app.state.b ? view.colours.ink : view.colours.dim;
            const rim = event === app.state.a || event === app.state.b ? 9.5 : view.r;
            const within = x < 0 || x > view.width ? x : Math.max(wide / 2 + 2, Math.min(view.width - wide / 2 - 2, x));
            taken.set(y + ' ' + side, within + wide / 2);
            haloed(pen, name, within, y + side * (rim + size * 0.5 + 7), view.colours.paper);
        });
    }
}

/** The side on which the words of a gap behind an event stand, and where they begin. */
function gapAfter(/** @type {View} */ view, /** @type {number} */ event) {
    const next = event + 1;
    if (next >= model.n || !(model.kind[next] & 32) || model.chainOf(next) !== model.chainOf(event)) return {side: 0, left: 0};
    return {side: -sideOf(next), left: (Math.max(px(view, event), px(view, next) - 90) + px(view, next)) / 2 - 32};
}

/** Where the name of an event stands: on the side of fewer arrows, above if that is all the same. */
function sideOf(/** @type {number} */ event) {
    const here = scene.rows.y[model.lane(event)], {src, dst} = model.edges;
    let side = model.kind[event] & 4 ? -1 : model.kind[event] & 8 ? 1 : 0;
    const {a, b} = app.state, partner = event === a ? b : event === b ? a : -1;
    if (partner >= 0) side += 9 * Math.sign(here - scene.rows.y[model.lane(partner)]);
    for (const edge of model.out(event)) side += Math.sign(here - scene.rows.y[model.lane(dst[edge])]);
    for (const edge of model.in(event)) side += Math.sign(here - scene.rows.y[model.lane(src[edge])]);
    return side > 0 ? 1 : -1;
}

/** The lanes cut where A ends to know: what lies beyond fades, the frontier is ringed. */
function drawCut(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes) {
    const {colours, width} = view, line = [];
    for (const lane of lanes) {
        for (const chain of chainsOf(lane)) {
            const past = scene.cone.past[chain], from = model.chains.offset[chain];
            const own = model.chainOf(app.state.a) === chain ? app.state.a : past - 1;
            const x = own < from ? -2 : Math.min(width + 2, px(view, own) + Math.min(14, view.k / 2));
            const y = chainY(view, chain), high = scene.rows.tall[lane] / scene.at.tracks[lane];
            pen.globalAlpha = 0.7;
            pen.fillStyle = colours.paper;
            if (x < width) pen.fillRect(Math.max(0, x), y - high / 2, width - Math.max(0, x), high);
            pen.globalAlpha = 1;
            line.push([x, y - high / 2], [x, y + high / 2]);
            if (own < from || px(view, own) < -9 || px(view, own) > width + 9) continue;
            pen.strokeStyle = colours.before;
            pen.lineWidth = 2;
            pen.beginPath();
            disc(pen, px(view, own), y, view.r + 5);
            pen.stroke();
        }
    }
    pen.strokeStyle = colours.before;
    pen.lineWidth = 2;
    pen.beginPath();
    line.forEach(([x, y], at) => at ? pen.lineTo(x, y) : pen.moveTo(x, y));
    pen.stroke();
}
