/*
 * The signs: one shape, one line and one colour for each thing that a verdict can be. Drawn with a handful of
 * methods of a canvas, so that the same functions make the picture, the legend and the file that is saved.
 */

/** A canvas context, or the recorder of share.js. @typedef {CanvasRenderingContext2D & {mark?: (event: number) => void}} Pen */

/** The name of each sign, its word, and the word said of an event beside A. @type {Record<string, string[]>} */
const SIGNS = {
    '<': ['before', 'before', 'before'],
    '>': ['after', 'after', 'after'],
    '||': ['concurrent', 'concurrent', 'concurrent with'],
    '<>': ['related', 'related, either way', 'related to'],
    '?': ['unknown', 'unknown', 'unknown to'],
    silent: ['silent', 'silent', 'silent with'],
    unsaid: ['dim', 'not ordered', 'not ordered with'],
};

const COLOURS = ['paper', 'raised', 'rule', 'ink', 'dim', 'lane', 'gap', 'before', 'after', 'concurrent', 'related',
    'unknown', 'silent', 'focus'];

/** The colours as the style sheet has them now: light, dark, forced. @returns {Record<string, string>} */
function palette() {
    const probe = document.body.appendChild(el('i', {class: 'probe'}));
    const read = COLOURS.map((name) => {
        probe.style.color = `var(--${name})`;
        return [name, getComputedStyle(probe).color];
    });
    probe.remove();
    return Object.fromEntries(read);
}

/**
 * Adds the outline of a sign to the path of the pen: what is `FILLED` is filled, the others are stroked. An
 * empty sign is the event itself, a disc.
 */
function outline(/** @type {Pen} */ pen, /** @type {string} */ sign, /** @type {number} */ x, /** @type {number} */ y,
    /** @type {number} */ r) {
    if (sign === '<' || sign === '>') {
        const tip = sign === '<' ? -1.25 * r : 1.25 * r;
        pen.moveTo(x + tip, y);
        pen.lineTo(x - tip * 0.7, y - 1.1 * r);
        pen.lineTo(x - tip * 0.7, y + 1.1 * r);
        pen.closePath();
    } else if (sign === '||') {
        pen.rect(x - 0.8 * r, y - 1.15 * r, 0.55 * r, 2.3 * r);
        pen.rect(x + 0.25 * r, y - 1.15 * r, 0.55 * r, 2.3 * r);
    } else if (sign === '<>') {
        pen.moveTo(x - 1.3 * r, y);
        pen.lineTo(x, y - 1.3 * r);
        pen.lineTo(x + 1.3 * r, y);
        pen.lineTo(x, y + 1.3 * r);
        pen.closePath();
    } else if (sign === '?') {
        disc(pen, x, y, 1.25 * r);
        if (r < 3) return;
        pen.moveTo(x - 0.5 * r, y - 0.3 * r);
        pen.quadraticCurveTo(x - 0.45 * r, y - 0.8 * r, x, y - 0.75 * r);
        pen.quadraticCurveTo(x + 0.5 * r, y - 0.7 * r, x + 0.45 * r, y - 0.25 * r);
        pen.quadraticCurveTo(x + 0.4 * r, y, x, y + 0.25 * r);
        pen.moveTo(x, y + 0.62 * r);
        pen.lineTo(x, y + 0.78 * r);
    } else {
        disc(pen, x, y, sign === 'silent' ? 1.15 * r : r);
    }
}

const FILLED = new Set(['', '<', '>', '||', '<>']);

function disc(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) {
    pen.moveTo(x + r, y);
    pen.arc(x, y, r, 0, 2 * Math.PI);
}

/** Draws the path that was outlined, as its sign has it; `r` sets the weight of what is stroked. */
function finish(/** @type {Pen} */ pen, /** @type {string} */ sign, /** @type {string} */ colour, /** @type {number} */ r) {
    if (FILLED.has(sign)) {
        pen.fillStyle = colour;
        pen.fill();
        return;
    }
    pen.strokeStyle = colour;
    pen.lineWidth = Math.max(1, r / 3);
    pen.setLineDash(sign === 'silent' ? [Math.max(1.2, r * 0.45), Math.max(1.2, r * 0.38)] : []);
    pen.stroke();
    pen.setLineDash([]);
}

/** The colour of a sign; an event without one is ink. */
function colourOf(/** @type {Record<string, string>} */ colours, /** @type {string} */ sign) {
    return colours[sign in SIGNS ? SIGNS[sign][0] : 'ink'];
}

/** A filled or open arrowhead with its tip at x, y, coming from the direction of fx, fy. */
function head(/** @type {Pen} */ pen, /** @type {number} */ fx, /** @type {number} */ fy, /** @type {number} */ x,
    /** @type {number} */ y, /** @type {number} */ long, /** @type {boolean} */ open) {
    const far = Math.hypot(x - fx, y - fy) || 1, ux = (x - fx) / far, uy = (y - fy) / far, wide = long * 0.42;
    pen.moveTo(x - ux * long - uy * wide, y - uy * long + ux * wide);
    pen.lineTo(x, y);
    pen.lineTo(x - ux * long + uy * wide, y - uy * long - ux * wide);
    if (!open) pen.closePath();
}

/** The line of a pair, as its verdict has it, from one end to the other. */
function pairLine(/** @type {Pen} */ pen, /** @type {Record<string, string>} */ colours, /** @type {string} */ sign,
    /** @type {number} */ ax, /** @type {number} */ ay, /** @type {number} */ bx, /** @type {number} */ by,
    /** @type {number} */ width) {
    const far = Math.hypot(bx - ax, by - ay) || 1, ux = (bx - ax) / far, uy = (by - ay) / far;
    const from = Math.min(9, far / 3), until = far - from;
    const point = (/** @type {number} */ s, /** @type {number} */ off) =>
        /** @type {[number, number]} */ ([ax + ux * s - uy * off, ay + uy * s + ux * off]);
    pen.strokeStyle = pen.fillStyle = colourOf(colours, sign);
    pen.lineWidth = width;
    pen.beginPath();
    if (sign === 'silent') {
        const stub = Math.min(far * 0.3, 46);
        for (const [near, end] of [[from, stub], [until, far - stub]]) {
            pen.moveTo(...point(near, 0));
            pen.lineTo(...point(end, 0));
            pen.moveTo(...point(end, -5));
            pen.lineTo(...point(end, 5));
        }
    } else if (sign === '?') {
        pen.moveTo(...point(from, 0));
        const waves = Math.max(2, Math.round((until - from) / 14)), step = (until - from) / waves;
        for (let wave = 0; wave < waves; wave++) {
            const [cx, cy] = point(from + (wave + 0.5) * step, wave % 2 ? -9 : 9);
            pen.quadraticCurveTo(cx, cy, ...point(from + (wave + 1) * step, 0));
        }
    } else {
        pen.setLineDash(sign === '||' ? [8, 5] : sign === '<>' ? [2, 5] : sign === 'unsaid' ? [1, 6] : []);
        pen.moveTo(...point(from, 0));
        pen.lineTo(...point(until, 0));
    }
    pen.stroke();
    pen.setLineDash([]);
    if (sign === '<>') {
        for (const s of [from, until]) {
            pen.beginPath();
            outline(pen, '<>', ...point(s, 0), width * 1.6 + 1);
            pen.fillStyle = colours.paper;
            pen.fill();
            pen.lineWidth = Math.max(1, width / 2);
            pen.stroke();
        }
    }
    if (sign.startsWith('!')) {
        const [mx, my] = point(far / 2, 0);
        pen.beginPath();
        if (sign !== '!||') head(pen, ...(sign === '!<' ? point(from, 0) : point(until, 0)),
            ...(sign === '!<' ? point(until, 0) : point(from, 0)), 8, true);
        pen.moveTo(mx - uy * 7 - ux * 4, my + ux * 7 - uy * 4);
        pen.lineTo(mx + uy * 7 + ux * 4, my - ux * 7 + uy * 4);
        pen.stroke();
    }
}

/** A sign in a box, in the middle of a line. */
function boxed(/** @type {Pen} */ pen, /** @type {Record<string, string>} */ colours, /** @type {string} */ sign,
    /** @type {number} */ x, /** @type {number} */ y) {
    const word = sign in SIGNS && sign.length > 2 ? SIGNS[sign][1] : sign;
    pen.font = font(word.length > 2 ? 12 : 14, 600);
    const wide = pen.measureText(word).width + 14;
    pen.fillStyle = colours.paper;
    pen.strokeStyle = colourOf(colours, sign);
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.rect(x - wide / 2, y - 11, wide, 22);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colours.ink;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillText(word, x, y + 0.5);
}

/** Text that no line strikes through: on a halo of the paper. */
function haloed(/** @type {Pen} */ pen, /** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y,
    /** @type {string} */ paper) {
    pen.strokeStyle = paper;
    pen.lineWidth = 4;
    pen.lineJoin = 'round';
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
}

function font(/** @type {number} */ size, /** @type {number} */ weight = 400) {
    return `${weight} ${size}px system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif`;
}

/** The red zigzag of a gap, where its lane is cut. */
function zigzag(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) {
    pen.moveTo(x - r * 0.3, y - r);
    pen.lineTo(x + r * 0.45, y - r * 0.35);
    pen.lineTo(x - r * 0.45, y + r * 0.35);
    pen.lineTo(x + r * 0.3, y + r);
}

/** What was lost: dashes from an event at x, y to an empty circle; `way` 1 right and down, -1 left and above. */
function stub(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ way,
    /** @type {number} */ long) {
    const far = long / Math.SQRT2 * way;
    pen.beginPath();
    pen.setLineDash([3, 3]);
    pen.moveTo(x, y);
    pen.lineTo(x + far, y + far);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    disc(pen, x + far + 2.2 * way, y + far + 2.2 * way, 3.2);
    pen.stroke();
}
