/*
 * Where in the log one is: the axis above the lanes, and the minimap below them.
 */

/** A round number that is not less: of microseconds, beyond half a minute, so many minutes, hours or days. */
function apartOf(/** @type {number} */ rough) {
    const ten = 10 ** floor(Math.log10(rough)), round = [1, 2, 5, 10].map((many) => many * ten).find((many) => many >= rough) || ten;
    if (app.state.axis !== 'time') return max(1, round);
    return rough < 3e7 ? round : [1, 2, 5, 10, 30, 60, 120, 360, 720, 1440, 2880, 10080, 43200].map((minutes) => minutes * 6e7).find((many) => many >= rough) || round;
}

/** The axis: numbers a hand apart, and what they are. */
function drawRuler(/** @type {Pen} */ pen) {
    const ticks = /** @type {number[]} */ ([]);
    const apart = apartOf(90 / view.k * scene.scale), from = ceil((scene.low + max(0, view.x0) * scene.scale) / apart) * apart;
    for (let tick = 0, x = 0; tick * 60 < view.width; tick++) {
        x = (from + tick * apart - scene.low) / scene.scale;
        if (x > min(scene.end, view.x0 + view.width / view.k)) break;
        ticks.push(x);
    }
    paint(pen, scene.colours.paper, 0, 0, view.width, RULER - 4);
    stroked(pen, scene.colours.rule, 1, () => {
        through(pen, 0, RULER - 4.5, view.width, RULER - 4.5);
        for (const x of ticks) through(pen, (x - view.x0) * view.k, RULER - 9, (x - view.x0) * view.k, RULER - 4);
    });
    font(pen, 11);
    for (const x of ticks) {
        const word = scene.label(x), at = (x - view.x0) * view.k, wide = pen.measureText(word).width / 2;
        if (at > wide + 2 && at < view.width - wide - 60) write(pen, word, at, 9, scene.colours.dim);
    }
    font(pen, 11, 400, 'right');
    write(pen, `${app.state.axis.replace(/s$/, '')} →`, view.width - 8, 9, scene.colours.dim);
}

/** The whole log in a strip: how dense each lane is, all that is missing, what is found, and what is in view. */
function drawMinimap(/** @type {Pen} */ pen, /** @type {number} */ width,
    /** @type {number} */ height) {
    const wide = (scene.end || 1) / (width - 12), bins = max(1, ceil((width - 12) / 2) + 1);
    const lane = (height - 10) / max(1, scene.shown.length), thick = max(1, min(5, lane * 0.6));
    paint(pen, scene.colours.raised, 0, 0, width, height);
    scene.shown.forEach((number, row) => {
        const y = 5 + (row + 0.5) * lane, counts = density(number, 0, wide * 2, bins);
        filled(pen, scene.colours.lane, () => counts.forEach((count, bin) => { if (count) pen.rect(6 + bin * 2, y - thick / 2, 2, thick); }));
        filled(pen, scene.colours.gap, () => along(scene.marks, number, 0, scene.end, wide * 3, (event) => {
            pen.rect(5 + scene.x[event] / wide, y - max(2.5, thick / 2 + 1), 2, max(5, thick + 2));
        }));
    });
    if (scene.found) filled(pen, scene.colours.ink, () => scene.shown.forEach((number) => along(scene.found, number, 0, scene.end, wide * 2, (event) => {
        pen.rect(5.5 + scene.x[event] / wide, 0, 1.5, 5);
    })));
}

/** The minimap but for what is in view, kept until it would change. */
const mapped = {canvas: document.createElement('canvas'), key: '', found: /** @type {Int32Array} */ (new Int32Array(0))};

function frameMinimap() {
    const map = find('minimap'), width = map.clientWidth, height = map.clientHeight, state = app.state;
    if (!width || !height) return;
    const key = [width, height, model.head.digest, model.n, state.axis, state.fold, model.order, [...state.hidden], scene.colours.paper, window.devicePixelRatio].join();
    if (mapped.key !== key || mapped.found !== state.found) {
        mapped.key = key;
        mapped.found = state.found;
        drawMinimap(sharp(mapped.canvas, width, height), width, height);
    }
    const pen = sharp(map, width, height), scale = (width - 12) / (scene.end || 1);
    pen.drawImage(mapped.canvas, 0, 0, width, height);
    const x = 6 + state.x0 * scale, wide = size().width / state.k * scale;
    const end = min(width - 1.5, x + wide), {paper, ink} = scene.colours;
    faint(pen, 0.6, () => {
        paint(pen, paper, 0, 0, x, height);
        paint(pen, paper, x + wide, 0, width, height);
    });
    stroked(pen, ink, 1.5, () => pen.rect(max(0.75, x), 0.75, end - max(0.75, x), height - 1.5));
}
