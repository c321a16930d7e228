/*
 * What joins events in the picture: messages and links as arrows, given relations, the pair of A and B and the
 * path that proves it, what is missing between and beyond events, and which lanes talk.
 */

/** The arrows of the edges in view. */
function drawArrows(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ left,
    /** @type {number} */ right, /** @type {boolean} */ heads) {
    const {colours, height} = view, {src, dst, why} = model.edges, {y} = scene.rows;
    /** @type {Record<string, number[]>} */
    const styles = {passing: [], message: [], stated: [], clock: [], back: [], step: []};
    cross(scene.at, left, right, (edge) => {
        const from = model.lane(src[edge]), to = model.lane(dst[edge]);
        if (y[from] < 0 || y[to] < 0) return;
        if (Math.max(y[from], y[to]) < view.y0 || Math.min(y[from], y[to]) > view.y0 + height) return;
        const [start, end] = [scene.at.x[src[edge]], scene.at.x[dst[edge]]];
        const style = start > end ? 'back' : start < left && end > right ? 'passing'
            : from === to && why[edge] === 3 && model.head.lanes[from].known ? 'step'
            : ['message', 'stated', 'clock', 'stated'][why[edge]];
        styles[style].push(edge);
    });
    bendsFor(view, heads);
    for (const [style, edges] of Object.entries(styles)) {
        if (!edges.length) continue;
        const tipped = heads && style !== 'step' && style !== 'passing';
        pen.strokeStyle = pen.fillStyle = style === 'back' ? colours.gap : style === 'step' ? colours.lane : colours.ink;
        pen.lineWidth = style === 'step' ? 1.2 : 1;
        pen.globalAlpha = style === 'step' ? 1 : style === 'passing' ? 0.3 : heads ? 0.75 : Math.max(0.16, Math.min(0.6, 200 / edges.length));
        const curves = edges.map((edge) => curveOf(view, edge, tipped)), {by} = model.columns;
        for (const only of by ? [0, 1, 2, 3] : [3]) {
            pen.setLineDash(style === 'clock' ? [6, 2, 1, 2] : DASHES[only % 3]);
            pen.beginPath();
            curves.forEach((curve, at) => { if (!by || by[edges[at]] === only) trace(pen, curve); });
            pen.stroke();
        }
        pen.setLineDash([]);
        if (tipped) {
            const open = style === 'stated' || style === 'clock';
            pen.beginPath();
            for (const [, , cx, cy, x2, y2] of curves) head(pen, cx, cy, x2, y2, 8, open);
            if (open) pen.stroke(); else pen.fill();
            if (style === 'clock') for (const curve of curves) dial(pen, colours, curve);
        }
        pen.globalAlpha = 1;
        if (by && tipped) {
            curves.forEach(([x1, y1, cx, cy, x2, y2], at) => {
                if (by[edges[at]] % 3) whose(pen, view, by[edges[at]], (x1 + 2 * cx + x2) / 4, (y1 + 2 * cy + y2) / 4);
            });
        }
    }
}

/** The small clock in the middle of what clocks alone tell. */
function dial(/** @type {Pen} */ pen, /** @type {Record<string, string>} */ colours, /** @type {number[]} */ curve) {
    const [x1, y1, cx, cy, x2, y2] = curve, x = (x1 + 2 * cx + x2) / 4, y = (y1 + 2 * cy + y2) / 4;
    pen.beginPath();
    disc(pen, x, y, 5);
    pen.fillStyle = colours.paper;
    pen.fill();
    pen.moveTo(x, y - 3);
    pen.lineTo(x, y);
    pen.lineTo(x + 2.2, y);
    pen.stroke();
}

function trace(/** @type {Pen} */ pen, /** @type {number[]} */ [x1, y1, cx, cy, x2, y2, bent]) {
    pen.moveTo(x1, y1);
    if (bent) pen.quadraticCurveTo(cx, cy, x2, y2); else pen.lineTo(x2, y2);
}

/** The curve of an edge: its ends, its control point, whether it is bent. `trim`: from rim to rim of the events. */
function curveOf(/** @type {View} */ view, /** @type {number} */ edge, /** @type {boolean} */ trim) {
    const a = model.edges.src[edge], b = model.edges.dst[edge], bend = scene.bends.get(edge);
    const offset = bend === undefined && trim ? bendOf(view, edge) : bend || 0;
    return curve(px(view, a), py(view, a), px(view, b), py(view, b), offset, trim ? view.rim : 0);
}

function curve(/** @type {number} */ ax, /** @type {number} */ ay, /** @type {number} */ bx, /** @type {number} */ by,
    /** @type {number} */ offset, /** @type {number} */ rim) {
    const far = Math.hypot(bx - ax, by - ay) || 1;
    const cx = (ax + bx) / 2 - (by - ay) / far * offset * 2, cy = (ay + by) / 2 + (bx - ax) / far * offset * 2;
    const start = Math.hypot(cx - ax, cy - ay) || 1, end = Math.hypot(bx - cx, by - cy) || 1;
    return [ax + (cx - ax) / start * rim, ay + (cy - ay) / start * rim, cx, cy,
        bx - (bx - cx) / end * rim, by - (by - cy) / end * rim, offset];
}

/** Forgets the bends of another scale. */
function bendsFor(/** @type {View} */ view, /** @type {boolean} */ heads) {
    const scale = heads ? `${view.k} ${scene.rows.unit} ${app.state.axis} ${model.order}` : '';
    if (scale === scene.bendsAt) return;
    scene.bendsAt = scale;
    scene.bends.clear();
}

/** How far an arrow swings out, so that it comes within 4 pixels of no event that it does not touch. */
function bendOf(/** @type {View} */ view, /** @type {number} */ edge) {
    const a = model.edges.src[edge], b = model.edges.dst[edge];
    const ends = [px(view, a), py(view, a), px(view, b), py(view, b)];
    let best = 0, least = Infinity;
    for (const offset of [0, 13, -13, 22, -22, 34, -34, 50, -50]) {
        const hits = touched(view, curve(ends[0], ends[1], ends[2], ends[3], offset, 0), a, b);
        if (hits < least) { best = offset; least = hits; }
        if (!hits) break;
    }
    scene.bends.set(edge, best);
    return best;
}

/** How many points of a curve come too near to an event other than its ends. */
function touched(/** @type {View} */ view, /** @type {number[]} */ [x1, y1, cx, cy, x2, y2], /** @type {number} */ a,
    /** @type {number} */ b) {
    const {at, rows: {y, tall, shown}} = scene, near = view.r + 4;
    const points = Math.min(90, Math.ceil((Math.hypot(cx - x1, cy - y1) + Math.hypot(x2 - cx, y2 - cy)) / 5));
    let hits = 0, row = 0;
    for (let point = 1; point < points; point++) {
        const t = point / points, s = 1 - t;
        const x = s * s * x1 + 2 * s * t * cx + t * t * x2, h = s * s * y1 + 2 * s * t * cy + t * t * y2;
        const down = h - RULER + view.y0;
        while (row > 0 && down < y[shown[row]] - tall[shown[row]] / 2) row--;
        while (row < shown.length - 1 && down > y[shown[row]] + tall[shown[row]] / 2) row++;
        const lane = shown[row];
        if (at.tracks[lane] === 1 && Math.abs(down - y[lane]) > near) continue;
        along(at, at.x, lane, view.x0 + (x - near) / view.k, view.x0 + (x + near) / view.k, 0, (event) => {
            if (event !== a && event !== b && Math.hypot(px(view, event) - x, py(view, event) - h) < near) hits++;
        });
    }
    return hits;
}

/** What is given beside `<`: concurrent, related, and what is refuted. */
function drawGivens(/** @type {Pen} */ pen, /** @type {View} */ view) {
    if (view.k < 5) return;
    for (const [a, sign, b] of scene.given) {
        if (inRows(a) && inRows(b)) {
            pairLine(pen, view.colours, sign, px(view, a), py(view, a), px(view, b), py(view, b), 1);
        }
    }
}

/** Gaps, lost messages and what is irregular: at every scale, and no nearer than they can be told apart. */
function drawMissing(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes,
    /** @type {number} */ left, /** @type {number} */ right) {
    const {colours, k} = view;
    for (const lane of lanes) {
        const tall = scene.rows.tall[lane], r = Math.min(11, tall * 0.42);
        along(scene.marks, scene.at.x, lane, left, right, k < 5 ? 3 / k : 0, (event) => {
            const kind = model.kind[event], x = px(view, event), y = py(view, event);
            if (k < 5) {
                pen.beginPath();
                if (kind & 32) zigzag(pen, x, y, r);
                else disc(pen, x, y + (kind & 8 ? -r : r) * 0.8, 2.5);
                pen.strokeStyle = colours.paper;
                pen.lineWidth = 4;
                pen.stroke();
            }
            pen.strokeStyle = colours.gap;
            pen.lineWidth = 1.5;
            if (k < 5) return pen.stroke();
            if (kind & 32) drawGap(pen, view, event, r);
            const long = Math.max(7, Math.min(30, k * 0.75, tall * 0.5));
            if (kind & 4) stub(pen, x, y, 1, long);
            if (kind & 8) stub(pen, x, y, -1, long);
            if (kind & 64) {
                pen.fillStyle = colours.gap;
                pen.font = font(13, 800);
                pen.textAlign = 'center';
                pen.textBaseline = 'middle';
                haloed(pen, '!', x + view.r + 5, y - view.r - 5, colours.paper);
            }
        });
    }
}

/** A gap before an event: the lane cut, a zigzag, and how many are missing. */
function drawGap(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ event, /** @type {number} */ r) {
    const from = model.chains.offset[model.chainOf(event)], y = py(view, event), x = px(view, event);
    const before = event > from ? Math.max(px(view, event - 1), x - 90) : x - Math.min(view.k, 40);
    const middle = (x + before) / 2, wide = Math.min(8, (x - before) / 4);
    pen.fillStyle = view.colours.paper;
    pen.fillRect(middle - wide, y - 2, 2 * wide, 4);
    pen.beginPath();
    zigzag(pen, middle, y, r);
    pen.stroke();
    const count = scene.missing.get(event), word = count == null ? 'missing' : `${count} missing`;
    if (view.k < 12 || scene.rows.unit < 24) return;
    pen.font = font(11, 600);
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillStyle = view.colours.gap;
    haloed(pen, word, middle, y - sideOf(event) * (r + 9), view.colours.paper);
}

/** The pair: the path of givens where there is one, else the line of its verdict, its sign in a box. */
function drawPair(/** @type {Pen} */ pen, /** @type {View} */ view) {
    const {a, b} = app.state, {verdict, path} = scene, {colours} = view;
    if (!inRows(a) || !inRows(b)) return;
    if (verdict !== '<' && verdict !== '>') {
        const [ax, ay, bx, by] = [px(view, a), py(view, a), px(view, b), py(view, b)];
        pairLine(pen, colours, verdict, ax, ay, bx, by, 2.5);
        boxed(pen, colours, verdict, (ax + bx) / 2, (ay + by) / 2);
        return;
    }
    pen.strokeStyle = pen.fillStyle = colourOf(colours, verdict);
    pen.lineWidth = 3.5;
    const tips = [];
    pen.beginPath();
    for (let at = 1; at < path.length; at++) {
        const {event, edge} = path[at], before = path[at - 1].event;
        if (!inRows(event) || !inRows(before) || px(view, event) < -9 || px(view, before) > view.width + 9) continue;
        const line = edge >= 0 ? curveOf(view, edge, true)
            : curve(px(view, before), py(view, before), px(view, event), py(view, event), 0, view.rim);
        trace(pen, line);
        if (view.k >= 5) tips.push(line);
    }
    pen.stroke();
    pen.beginPath();
    for (const [, , cx, cy, x2, y2] of tips) head(pen, cx, cy, x2, y2, 12, false);
    pen.fill();
}

/** Who talks to whom, where single messages would be a picket fence: arcs at the names, and how many there are. */
function drawTalk(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ crowd) {
    const {colours, height} = view, most = scene.talk.length ? scene.talk[0][2] : 1;
    const mine = app.state.focus >= 0 ? model.lane(app.state.focus) : -1;
    for (const [from, to, count] of scene.talk) {
        const y1 = laneY(view, from), y2 = laneY(view, to), own = from === mine || to === mine;
        if (scene.rows.y[from] < 0 || scene.rows.y[to] < 0 || Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) continue;
        pen.strokeStyle = own ? colours.ink : colours.lane;
        pen.lineWidth = own ? 1.5 : 0.5 + 1.5 * count / most;
        pen.globalAlpha = own ? 0.9 : mine >= 0 ? 0.25 : 0.5;
        pen.beginPath();
        pen.moveTo(0, y1);
        pen.quadraticCurveTo(Math.min(64, 12 + Math.abs(y2 - y1) * 0.3), (y1 + y2) / 2, 0, y2);
        pen.stroke();
    }
    pen.globalAlpha = 1;
    const word = `${crowd.toLocaleString('en')} arrows in view; zoom in to see them`;
    pen.font = font(11);
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    pen.fillStyle = colours.paper;
    const wide = pen.measureText(word).width;
    pen.fillRect(view.width - wide - 80, 0, wide + 16, RULER - 6);
    pen.fillStyle = colours.dim;
    pen.fillText(word, view.width - 72, 9);
}
