/*
 * Two replicas in one picture: the left half of a sign is what the first knows, the right half what the second
 * does; an event that one of them does not name is half a ring. What one alone is given has its pattern and its number.
 */

/** The patterns of what only the first, and only the second is given. */
const DASHES = [[], [9, 3], [3, 3]];

/** How an event stands to A in one of the two; none where that one does not name both. */
function signIn(/** @type {number} */ which, /** @type {number} */ event) {
    const {a} = app.state, {who} = model.columns;
    if (a < 0 || event === a || !(who[event] & which) || !(who[a] & which)) return '';
    return fromTable(event, a, `table.${which}`);
}

/** Half of a disc or of a ring; `side` -1 is the left one. */
function half(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r,
    /** @type {number} */ side) {
    pen.moveTo(x, y - side * r);
    pen.arc(x, y, r, -side * Math.PI / 2, -side * Math.PI / 2 + Math.PI);
}

/** The events, each as two halves where the two do not know the same. */
function drawHalves(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes,
    /** @type {number} */ left, /** @type {number} */ right) {
    const {colours, r} = view, {who} = model.columns;
    for (const lane of lanes) {
        along(scene.at, scene.at.x, lane, left, right, 0, (event) => {
            const x = px(view, event), y = py(view, event), signs = [signIn(1, event), signIn(2, event)];
            if (who[event] === 3 && signs[0] === signs[1]) return glyph(pen, view, event, signs[0], x, y, r);
            if (signs[0] || signs[1]) {
                pen.fillStyle = colours.paper;
                pen.fillRect(x - 2.4 * r, y - 1.5 * r, 4.8 * r, 3 * r);
            }
            for (const [at, side] of [[0, -1], [1, 1]]) {
                const named = who[event] & (at + 1);
                if (named && signs[at]) glyph(pen, view, side < 0 || !(who[event] & 1) ? event : -1, signs[at], x + side * 1.2 * r, y, r * 0.85);
                else {
                    pen.beginPath();
                    if (pen.mark && named && (side < 0 || !(who[event] & 1))) pen.mark(event);
                    half(pen, x + side * 0.7, y, r, side);
                    pen.fillStyle = pen.strokeStyle = colours.ink;
                    pen.lineWidth = 1.2;
                    if (named) pen.fill(); else pen.stroke();
                }
            }
        });
    }
}

/** One sign; an event of -1 is the other half of one that was drawn. */
function glyph(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ event, /** @type {string} */ sign,
    /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) {
    if (!FILLED.has(sign)) {
        pen.beginPath();
        disc(pen, x, y, r);
        pen.fillStyle = view.colours.paper;
        pen.fill();
    }
    pen.beginPath();
    if (pen.mark && event >= 0) pen.mark(event);
    outline(pen, sign, x, y, r);
    finish(pen, sign, colourOf(view.colours, sign), r);
}

/** The tint in three tones a direction: darkest where both know it, then the first alone, then the second. */
function drawTones(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes) {
    const {colours} = view, tones = [0, 0.16, 0.08, 0.26];
    for (const lane of lanes) {
        for (const chain of chainsOf(lane)) {
            const [from, to] = [model.chains.offset[chain], model.chains.offset[chain + 1]], y = chainY(view, chain);
            const high = Math.min(26, scene.rows.tall[lane] / scene.at.tracks[lane] * 0.74), reach = Math.min(14, view.k / 2);
            for (const [sign, colour] of [['<', colours.before], ['>', colours.after]]) {
                for (let i = from; i < to; i++) {
                    const tone = (signIn(1, i) === sign ? 1 : 0) + (signIn(2, i) === sign ? 2 : 0);
                    if (!tone) continue;
                    const x = px(view, i), start = i > from ? (px(view, i - 1) + x) / 2 : x - reach;
                    const end = i + 1 < to ? (px(view, i + 1) + x) / 2 : x + reach;
                    pen.fillStyle = colour;
                    pen.globalAlpha = tones[tone];
                    pen.fillRect(start, y - high / 2, end - start, high);
                }
            }
            pen.globalAlpha = 1;
        }
    }
}

/** The number of the one that alone is given something, on a halo. */
function whose(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number} */ which, /** @type {number} */ x,
    /** @type {number} */ y) {
    pen.font = font(11, 700);
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillStyle = view.colours.ink;
    haloed(pen, String(which), x, y, view.colours.paper);
}

/** The steps of a lane that only one of the two is given: drawn over its line. */
function drawLinks(/** @type {Pen} */ pen, /** @type {View} */ view, /** @type {number[]} */ lanes,
    /** @type {number} */ left, /** @type {number} */ right) {
    const {colours, rim} = view, {link} = model.columns;
    for (const lane of lanes.filter((lane) => model.head.lanes[lane].known)) {
        along(scene.at, scene.at.x, lane, left, right, 0, (event) => {
            if (event === model.chains.offset[model.chainOf(event)] || link[event] === 3) return;
            const y = py(view, event), x1 = px(view, event - 1) + rim, x2 = px(view, event) - rim;
            pen.fillStyle = colours.paper;
            pen.fillRect(x1, y - 1.5, x2 - x1, 3);
            if (!link[event]) return;
            pen.setLineDash(DASHES[link[event]]);
            pen.strokeStyle = colours.lane;
            pen.lineWidth = 1.2;
            pen.beginPath();
            pen.moveTo(x1, y);
            pen.lineTo(x2, y);
            pen.stroke();
            pen.setLineDash([]);
            if (view.k >= 12) whose(pen, view, link[event], (x1 + x2) / 2, y - 8);
        });
    }
}
