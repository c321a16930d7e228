/*
 * Two replicas in one picture: the left half of a sign is what the first knows, the right half what the second
 * does; an event that one of them does not name is half a ring. What one alone is given has its pattern and its number.
 */

/** The patterns of what only the first, and only the second is given. */
const DASHES = [[], [9, 3], [3, 3]];

/** How an event stands to A in one of the two; none where that one does not name both. */
function signIn(/** @type {number} */ which, /** @type {number} */ event) {
    const {a} = app.state;
    return a < 0 || event === a || !(model.who[event] & model.who[a] & which) ? '' : fromTable(event, a, `table.${which}`);
}

/** The events, each as two halves where the two do not know the same. */
function drawHalves(/** @type {Pen} */ pen) {
    inView(scene.events, 0, (event) => {
        const x = px(event), y = py(event), signs = [signIn(1, event), signIn(2, event)];
        if (model.who[event] === 3 && signs[0] === signs[1]) return glyphs(pen, signs[0], [event], () => [x, y, view.r], true);
        if (signs[0] || signs[1]) paint(pen, scene.colours.paper, x - 2.4 * view.r, y - 1.5 * view.r, 4.8 * view.r, 3 * view.r);
        signs.forEach((sign, at) => {
            const side = 2 * at - 1, named = model.who[event] & (at + 1), marked = named && !(at && model.who[event] & 1);
            if (named && sign) return glyphs(pen, sign, [event], () => [x + side * 1.2 * view.r, y, view.r * 0.85], marked);
            const half = () => {
                if (marked) pen.mark?.(event);
                pen.moveTo(x + side * 0.7, y - side * view.r);
                pen.arc(x + side * 0.7, y, view.r, -side * Math.PI / 2, -side * Math.PI / 2 + Math.PI);
            };
            if (named) filled(pen, scene.colours.ink, half); else stroked(pen, scene.colours.ink, 1.2, half);
        });
    });
}

/** The tint in three tones a direction: darkest where both know it, then the first alone, then the second. */
function drawTones(/** @type {Pen} */ pen) {
    chainsIn((chain, lane, y) => {
        const from = model.offset[chain], end = model.offset[chain + 1], high = bandOf(lane), reach = min(14, view.k / 2);
        for (let i = from; i < end; i++) for (const sign of ['<', '>']) {
            const tone = (signIn(1, i) === sign ? 1 : 0) + (signIn(2, i) === sign ? 2 : 0);
            const x = px(i), start = i > from ? (px(i - 1) + x) / 2 : x - reach;
            if (tone) faint(pen, [0, 0.16, 0.08, 0.26][tone], () =>
                paint(pen, sign === '<' ? scene.colours.before : scene.colours.after, start, y - high / 2, (i + 1 < end ? (px(i + 1) + x) / 2 : x + reach) - start, high));
        }
    });
}

/** The number of the one that alone is given something, on a halo. */
function whose(/** @type {Pen} */ pen, /** @type {number} */ which, /** @type {number} */ x,
    /** @type {number} */ y) {
    font(pen, 11, 700);
    write(pen, String(which), x, y, scene.colours.ink, scene.colours.paper);
}

/** The steps of a lane that only one of the two is given: drawn over its line. */
function drawLinks(/** @type {Pen} */ pen) {
    inView(scene.events, 0, (event, lane) => {
        const which = model.columns.link[event];
        if (!model.lanes[lane].known || which === 3 || event === model.offset[model.chainOf(event)]) return;
        const y = py(event), from = px(event - 1) + view.rim, to = px(event) - view.rim;
        paint(pen, scene.colours.paper, from, y - 1.5, to - from, 3);
        if (!which) return;
        stroked(pen, scene.colours.lane, 1.2, () => through(pen, from, y, to, y), DASHES[which]);
        if (view.k >= 12) whose(pen, which, (from + to) / 2, y - 8);
    });
}
