/*
 * What joins events in the picture: messages and links as arrows, given relations, the pair of A and B and the
 * path that proves it, what is missing between and beyond events, and which lanes talk.
 */

/** How edges are drawn: their colour, their strength where single ones can be told apart, whether their heads are open. @type {Record<string, [string, number, boolean?]>} */
const STYLES = {passing: ['ink', 0.3], message: ['ink', 0.75], stated: ['ink', 0.75, true], clock: ['ink', 0.75, true], back: ['gap', 0.75], step: ['lane', 1]};

/** The arrows of the edges in view. */
function drawArrows(/** @type {Pen} */ pen, /** @type {boolean} */ heads) {
    /** @type {Record<string, number[]>} */
    const styled = {passing: [], message: [], stated: [], clock: [], back: [], step: []};
    cross(view.left, view.right, (edge) => {
        const from = model.lane(model.src[edge]), to = model.lane(model.dst[edge]), [start, end] = [scene.x[model.src[edge]], scene.x[model.dst[edge]]];
        if (scene.y[from] < 0 || scene.y[to] < 0 || max(scene.y[from], scene.y[to]) < view.y0 || min(scene.y[from], scene.y[to]) > view.y0 + view.height) return;
        styled[start > end ? 'back' : start < view.left && end > view.right ? 'passing'
            : from === to && model.why[edge] === 3 && model.lanes[from].known ? 'step'
            : ['message', 'stated', 'clock', 'stated'][model.why[edge]]].push(edge);
    });
    bendsFor(heads);
    for (const [style, edges] of Object.entries(styled)) {
        const [name, strength, open = false] = STYLES[style], colour = scene.colours[name], tipped = heads && style !== 'step' && style !== 'passing';
        const curves = edges.map((edge) => curveOf(edge, tipped)), crowded = max(0.16, min(0.6, 200 / edges.length));
        faint(pen, heads || strength !== 0.75 ? strength : crowded, () => {
            for (const only of model.columns.by ? [0, 1, 2, 3] : [3]) {
                stroked(pen, colour, style === 'step' ? 1.2 : 1, () => {
                    curves.forEach((curve, at) => { if (!model.columns.by || model.columns.by[edges[at]] === only) trace(pen, curve); });
                }, style === 'clock' ? [6, 2, 1, 2] : DASHES[only % 3]);
            }
            const tips = () => { for (const [, , cx, cy, x, y] of curves) head(pen, cx, cy, x, y, 8, open); };
            if (tipped && open) stroked(pen, colour, 1, tips); else if (tipped) filled(pen, colour, tips);
            if (tipped && style === 'clock') curves.forEach((curve) => framed(pen, scene.colours.paper, scene.colours.ink, 1, () => dial(pen, ...middleOf(curve))));
        });
        if (model.columns.by && tipped) curves.forEach((curve, at) => { if (model.columns.by[edges[at]] % 3) whose(pen, model.columns.by[edges[at]], ...middleOf(curve)); });
    }
}

/** Adds the small clock that stands in the middle of what clocks alone tell. */
function dial(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y) {
    disc(pen, x, y, 5);
    through(pen, x, y - 3, x, y, x + 2.2, y);
}

// -- curves: x and y of their ends and of the point that they bend to, which stands between the ends; how much they bend ----

function trace(/** @type {Pen} */ pen, /** @type {number[]} */ [x1, y1, cx, cy, x2, y2, bent]) {
    pen.moveTo(x1, y1);
    if (bent) pen.quadraticCurveTo(cx, cy, x2, y2); else pen.lineTo(x2, y2);
}

/** The middle of a curve; where that lies on a lane, half a row beside it: what stands there is no event. @returns {[number, number]} */
function middleOf(/** @type {number[]} */ [x1, y1, cx, cy, x2, y2]) {
    const rows = round((y2 - y1) / scene.unit), t = rows % 2 || !rows ? 0.5 : 0.5 - 0.5 / rows, s = 1 - t;
    return [s * s * x1 + 2 * s * t * cx + t * t * x2, s * s * y1 + 2 * s * t * cy + t * t * y2];
}

/** The curve of an edge. `trim`: from rim to rim of the events. */
function curveOf(/** @type {number} */ edge, /** @type {boolean} */ trim) {
    const a = model.src[edge], b = model.dst[edge], bend = scene.bends.get(edge);
    return curve(ends(a, b), bend == null && trim ? bendOf(edge) : bend || 0, trim ? view.rim : 0);
}

const ends = (/** @type {number} */ a, /** @type {number} */ b) => [px(a), py(a), px(b), py(b)];

function curve(/** @type {number[]} */ [ax, ay, bx, by], /** @type {number} */ offset, /** @type {number} */ rim) {
    const far = hypot(bx - ax, by - ay) || 1;
    const cx = (ax + bx) / 2 - (by - ay) / far * offset * 2, cy = (ay + by) / 2 + (bx - ax) / far * offset * 2;
    const start = rim / (hypot(cx - ax, cy - ay) || 1), end = rim / (hypot(bx - cx, by - cy) || 1);
    return [ax + (cx - ax) * start, ay + (cy - ay) * start, cx, cy, bx - (bx - cx) * end, by - (by - cy) * end, offset];
}

/** Forgets the bends of another scale. */
function bendsFor(/** @type {boolean} */ heads) {
    const scale = heads ? `${view.k} ${scene.unit} ${app.state.axis} ${model.order}` : '';
    if (scale === scene.bendsAt) return;
    scene.bendsAt = scale;
    scene.bends.clear();
}

/** How far an arrow swings out, so that it comes within 4 pixels of no event that it does not touch. */
function bendOf(/** @type {number} */ edge) {
    const a = model.src[edge], b = model.dst[edge];
    let best = 0, least = Infinity;
    for (const offset of [0, 13, -13, 22, -22, 34, -34, 50, -50]) {
        const hits = touched(curve(ends(a, b), offset, 0), a, b);
        if (hits < least) { best = offset; least = hits; }
        if (!hits) break;
    }
    scene.bends.set(edge, best);
    return best;
}

/** How many points of a curve come too near to an event other than its ends. */
function touched(/** @type {number[]} */ [x1, y1, cx, cy, x2, y2], /** @type {number} */ a,
    /** @type {number} */ b) {
    const near = view.r + 4;
    const points = min(90, ceil((hypot(cx - x1, cy - y1) + hypot(x2 - cx, y2 - cy)) / 5));
    let hits = 0, row = 0;
    for (let point = 1; point < points; point++) {
        const t = point / points, s = 1 - t;
        const x = s * s * x1 + 2 * s * t * cx + t * t * x2, h = s * s * y1 + 2 * s * t * cy + t * t * y2;
        const down = h - RULER + view.y0;
        while (row > 0 && down < scene.y[scene.shown[row]] - scene.tall[scene.shown[row]] / 2) row--;
        while (row < scene.shown.length - 1 && down > scene.y[scene.shown[row]] + scene.tall[scene.shown[row]] / 2) row++;
        const lane = scene.shown[row];
        if (scene.tracks[lane] === 1 && abs(down - scene.y[lane]) > near) continue;
        along(scene.events, lane, view.x0 + (x - near) / view.k, view.x0 + (x + near) / view.k, 0, (event) => {
            if (event !== a && event !== b && hypot(px(event) - x, py(event) - h) < near) hits++;
        });
    }
    return hits;
}

// -- what is given and what is missing --------------------------------------------------------------------------

/** What is given beside `<`: concurrent, related, and what is refuted. */
function drawGivens(/** @type {Pen} */ pen) {
    if (view.k < 5) return;
    for (const [a, sign, b] of scene.given) if (inRows(a) && inRows(b)) pairLine(pen, sign, ends(a, b), 1);
}

/** Gaps, lost messages and what is irregular: at every scale, and no nearer than they can be told apart. */
function drawMissing(/** @type {Pen} */ pen) {
    inView(scene.marks, view.k < 5 ? 3 / view.k : 0, (event, lane) => {
        const kind = model.kind[event], x = px(event), y = py(event), tall = scene.tall[lane], r = min(11, tall * 0.42);
        if (view.k < 5 && kind & 44) {
            const mark = () => kind & 32 ? zigzag(pen, x, y, r) : disc(pen, x, y + (kind & 8 ? -r : r) * 0.8, 2.5);
            stroked(pen, scene.colours.paper, 4, mark);
            return stroked(pen, scene.colours.gap, 1.5, mark);
        }
        if (kind & 32) drawGap(pen, event, r);
        const long = max(7, min(30, view.k * 0.75, tall * 0.5));
        if (kind & 4) stub(pen, scene.colours.gap, x, y, 1, long);
        if (kind & 8) stub(pen, scene.colours.gap, x, y, -1, long);
        if (kind & 64) {
            font(pen, 13, 800);
            write(pen, '!', x + view.r + 5, y - view.r - 5, scene.colours.gap, scene.colours.paper);
        }
    });
}

/** A gap before an event: the lane cut, a zigzag, and how many are missing. */
function drawGap(/** @type {Pen} */ pen, /** @type {number} */ event, /** @type {number} */ r) {
    const y = py(event), x = px(event);
    const before = event > model.offset[model.chainOf(event)] ? max(px(event - 1), x - 90) : x - min(view.k, 40);
    const middle = (x + before) / 2, wide = min(8, (x - before) / 4);
    paint(pen, scene.colours.paper, middle - wide, y - 2, 2 * wide, 4);
    stroked(pen, scene.colours.gap, 1.5, () => zigzag(pen, middle, y, r));
    if (view.k < 12 || scene.unit < 24) return;
    font(pen, 11, 600);
    write(pen, `${scene.missing.get(event) ?? ''} missing`.trim(), middle, y - sideOf(event) * (r + 9), scene.colours.gap, scene.colours.paper);
}

// -- the pair, and who talks to whom ----------------------------------------------------------------------------

/** The pair: the path of givens where there is one, else the line of its verdict, its sign in a box. */
function drawPair(/** @type {Pen} */ pen) {
    const {a, b} = app.state, verdict = scene.verdict, path = scene.path;
    if (!inRows(a) || !inRows(b)) return;
    if (verdict !== '<' && verdict !== '>') {
        const line = ends(a, b), [ax, ay, bx, by] = line;
        pairLine(pen, verdict, line, 2.5);
        return boxed(pen, verdict, (ax + bx) / 2, (ay + by) / 2);
    }
    const lines = path.slice(1).flatMap(({event, edge}, at) => {
        const before = path[at].event;
        if (!inRows(event) || !inRows(before) || px(event) < -9 || px(before) > view.width + 9) return [];
        return [edge >= 0 ? curveOf(edge, true) : curve(ends(before, event), 0, view.rim)];
    });
    stroked(pen, colourOf(verdict), 3.5, () => lines.forEach((line) => trace(pen, line)));
    if (view.k >= 5) filled(pen, colourOf(verdict), () => { for (const [, , cx, cy, x, y] of lines) head(pen, cx, cy, x, y, 12, false); });
}

/** Who talks to whom, of those in view, where single messages would be a picket fence: arcs at the names, and how many there are. */
function drawTalk(/** @type {Pen} */ pen, /** @type {number} */ crowd) {
    const most = scene.talk[0]?.[2], mine = app.state.focus >= 0 ? model.lane(app.state.focus) : -1;
    for (const [from, to, count] of scene.talk) {
        const y1 = laneY(from), y2 = laneY(to), own = from === mine || to === mine;
        if (scene.y[from] < 0 || scene.y[to] < 0 || !own && (min(y1, y2) < 0 || max(y1, y2) > view.height)) continue;
        faint(pen, own ? 0.9 : mine >= 0 ? 0.25 : 0.5, () => stroked(pen, own ? scene.colours.ink : scene.colours.lane, own ? 1.5 : 0.5 + 1.5 * count / most, () => {
            pen.moveTo(0, y1);
            pen.quadraticCurveTo(min(64, 12 + abs(y2 - y1) * 0.3), (y1 + y2) / 2, 0, y2);
        }));
    }
    const word = `${numbered(crowd)} arrows in view; zoom in to see them`;
    font(pen, 11, 400, 'right');
    const wide = pen.measureText(word).width;
    paint(pen, scene.colours.paper, view.width - wide - 80, 0, wide + 16, RULER - 6);
    write(pen, word, view.width - 72, 9, scene.colours.dim);
}
