/*
 * The signs: one shape, one line and one colour for each thing that a verdict can be. Drawn with a handful of
 * methods of a canvas, so that the same functions make the picture, the legend and the file that is saved.
 */

/** A canvas context, or the recorder of share.js. @typedef {CanvasRenderingContext2D & {mark?: (event: number) => void}} Pen */

/**
 * The name of each sign, which is that of its colour; its word; the word said of an event beside another; and what it
 * means, where it decides nothing.
 * @type {Record<string, string[]>}
 */
const SIGNS = {
    '<': ['before', 'before', 'before'],
    '>': ['after', 'after', 'after'],
    '||': ['concurrent', 'concurrent', 'concurrent with'],
    '<>': ['related', 'related, either way', 'related to'],
    '?': ['unknown', 'unknown', 'unknown to', 'What is given does not tell how the two stand to each other; they may well be ordered.'],
    silent: ['silent', 'silent', 'silent beside', 'No rule says anything of this pair: it is neither known to be concurrent nor unknown.'],
    unsaid: ['dim', 'not ordered', 'not ordered with', 'Whether they are unknown to each other or silent is not in this page; the command has it.'],
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

// -- strokes and words ------------------------------------------------------------------------------------------

/** Strokes what `draw` adds to the path. */
function stroked(/** @type {Pen} */ pen, /** @type {string} */ colour, /** @type {number} */ width,
    /** @type {() => void} */ draw, /** @type {number[]} */ dash = []) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.beginPath();
    draw();
    pen.stroke();
    pen.setLineDash([]);
}

/** Fills what `draw` adds to the path. */
function filled(/** @type {Pen} */ pen, /** @type {string} */ colour, /** @type {() => void} */ draw) {
    pen.fillStyle = colour;
    pen.beginPath();
    draw();
    pen.fill();
}

/** Fills a rectangle. */
function paint(/** @type {Pen} */ pen, /** @type {string} */ colour, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) {
    pen.fillStyle = colour;
    pen.fillRect(x, y, width, height);
}

/** Fills and strokes what `draw` adds to the path. */
function framed(/** @type {Pen} */ pen, /** @type {string} */ inside, /** @type {string} */ rim, /** @type {number} */ width, /** @type {() => void} */ draw) {
    filled(pen, inside, draw);
    stroked(pen, rim, width, draw);
}

/** Adds a line through points, x and y in turn. */
function through(/** @type {Pen} */ pen, /** @type {number[]} */ ...points) {
    for (let at = 0; at < points.length; at += 2) pen[at ? 'lineTo' : 'moveTo'](points[at], points[at + 1]);
}

function disc(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) {
    pen.moveTo(x + r, y);
    pen.arc(x, y, r, 0, 2 * Math.PI);
}

/** Sets what words are written in, and where they stand beside their place. */
function font(/** @type {Pen} */ pen, /** @type {number} */ size, weight = 400, /** @type {CanvasTextAlign} */ align = 'center') {
    pen.font = `${weight} ${size}px ${scene.family}`;
    pen.textAlign = align;
    pen.textBaseline = 'middle';
}

/** Writes words; on a halo of the paper, where there is one, no line strikes them through. */
function write(/** @type {Pen} */ pen, /** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y,
    /** @type {string} */ colour, /** @type {string} */ paper = '') {
    if (paper) {
        pen.strokeStyle = paper;
        pen.lineWidth = 4;
        pen.strokeText(text, x, y);
    }
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
}

// -- one event --------------------------------------------------------------------------------------------------

/** What is filled; the other signs are stroked. */
const FILLED = new Set(['', '<', '>', '||', '<>']);

/** Adds the outline of a sign to the path of the pen. An empty sign is the event itself, a disc. */
function outline(/** @type {Pen} */ pen, /** @type {string} */ sign, /** @type {number} */ x, /** @type {number} */ y,
    /** @type {number} */ r) {
    if (sign === '<' || sign === '>') {
        const tip = sign === '<' ? -1.25 * r : 1.25 * r;
        through(pen, x + tip, y, x - tip * 0.7, y - 1.1 * r, x - tip * 0.7, y + 1.1 * r);
        pen.closePath();
    } else if (sign === '||') {
        pen.rect(x - 0.8 * r, y - 1.15 * r, 0.55 * r, 2.3 * r);
        pen.rect(x + 0.25 * r, y - 1.15 * r, 0.55 * r, 2.3 * r);
    } else if (sign === '<>') {
        through(pen, x - 1.3 * r, y, x, y - 1.3 * r, x + 1.3 * r, y, x, y + 1.3 * r);
        pen.closePath();
    } else if (sign === '?') {
        disc(pen, x, y, 1.25 * r);
        if (r < 3) return;
        pen.moveTo(x - 0.5 * r, y - 0.3 * r);
        for (const [cx, cy, dx, dy] of [[-0.45, -0.8, 0, -0.75], [0.5, -0.7, 0.45, -0.25], [0.4, 0, 0, 0.25]]) {
            pen.quadraticCurveTo(x + cx * r, y + cy * r, x + dx * r, y + dy * r);
        }
        through(pen, x, y + 0.62 * r, x, y + 0.78 * r);
    } else disc(pen, x, y, sign === 'silent' ? 1.15 * r : r);
}

/** Draws the path that was outlined, as its sign has it; `r` sets the weight of what is stroked. */
function finish(/** @type {Pen} */ pen, /** @type {string} */ sign, /** @type {string} */ colour, /** @type {number} */ r) {
    if (FILLED.has(sign)) {
        pen.fillStyle = colour;
        return pen.fill();
    }
    pen.strokeStyle = colour;
    pen.lineWidth = max(1, r / 3);
    if (sign === 'silent') pen.setLineDash([max(1.2, r * 0.45), max(1.2, r * 0.38)]);
    pen.stroke();
    pen.setLineDash([]);
}

/** The colour of a sign; an event without one is ink. */
function colourOf(/** @type {string} */ sign) {
    return scene.colours[SIGNS[sign]?.[0] ?? 'ink'];
}

/** The red zigzag of a gap, where its lane is cut. */
function zigzag(/** @type {Pen} */ pen, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) {
    through(pen, x - r * 0.3, y - r, x + r * 0.45, y - r * 0.35, x - r * 0.45, y + r * 0.35, x + r * 0.3, y + r);
}

/** What was lost: dashes from an event at x, y to an empty circle; `way` 1 right and down, -1 left and above. */
function stub(/** @type {Pen} */ pen, /** @type {string} */ colour, /** @type {number} */ x, /** @type {number} */ y,
    /** @type {number} */ way, /** @type {number} */ long) {
    const far = long / Math.SQRT2 * way, end = far + 2.2 * way;
    stroked(pen, colour, 1.5, () => through(pen, x, y, x + far, y + far), [3, 3]);
    stroked(pen, colour, 1.5, () => disc(pen, x + end, y + end, 3.2));
}

// -- two events -------------------------------------------------------------------------------------------------

/** Adds a filled or open arrowhead with its tip at x, y, coming from the direction of fx, fy. */
function head(/** @type {Pen} */ pen, /** @type {number} */ fx, /** @type {number} */ fy, /** @type {number} */ x,
    /** @type {number} */ y, /** @type {number} */ long, /** @type {boolean} */ open) {
    const far = hypot(x - fx, y - fy) || 1, ux = (x - fx) / far * long, uy = (y - fy) / far * long;
    through(pen, x - ux - uy * 0.42, y - uy + ux * 0.42, x, y, x - ux + uy * 0.42, y - uy - ux * 0.42);
    if (!open) pen.closePath();
}

/** Patterns of the lines of signs; any other is solid. @type {Record<string, number[]>} */
const PATTERNS = {'||': [8, 5], '<>': [2, 5], unsaid: [1, 6]};

/** The line of a pair, as its verdict has it, from one end to the other. */
function pairLine(/** @type {Pen} */ pen, /** @type {string} */ sign,
    /** @type {number[]} */ [ax, ay, bx, by], /** @type {number} */ width) {
    const far = hypot(bx - ax, by - ay) || 1, ux = (bx - ax) / far, uy = (by - ay) / far;
    const from = min(9, far / 3), until = far - from, colour = colourOf(sign);
    const point = (/** @type {number} */ s, off = 0) => /** @type {[number, number]} */ ([ax + ux * s - uy * off, ay + uy * s + ux * off]);
    stroked(pen, colour, width, () => {
        if (sign === 'silent') {
            const stub = min(far * 0.3, 46);
            for (const [near, end] of [[from, stub], [until, far - stub]]) {
                through(pen, ...point(near), ...point(end));
                through(pen, ...point(end, -5), ...point(end, 5));
            }
        } else if (sign === '?') {
            const waves = max(2, round((until - from) / 14)), step = (until - from) / waves;
            pen.moveTo(...point(from));
            for (let wave = 0; wave < waves; wave++) {
                pen.quadraticCurveTo(...point(from + (wave + 0.5) * step, wave % 2 ? -9 : 9), ...point(from + (wave + 1) * step));
            }
        } else through(pen, ...point(from), ...point(until));
        if (sign[0] === '!') {
            const [tail, tip] = sign === '!<' ? [from, until] : [until, from], middle = far / 2;
            if (sign !== '!||') head(pen, ...point(tail), ...point(tip), 8, true);
            through(pen, ...point(middle - 4, 7), ...point(middle + 4, -7));
        }
    }, PATTERNS[sign]);
    if (sign === '<>') for (const s of [from, until]) {
        const diamond = () => outline(pen, sign, ...point(s), width * 1.6 + 1);
        framed(pen, scene.colours.paper, colour, max(1, width / 2), diamond);
    }
}

/** A sign in a box, in the middle of a line. */
function boxed(/** @type {Pen} */ pen, /** @type {string} */ sign,
    /** @type {number} */ x, /** @type {number} */ y) {
    const word = sign.length > 2 ? SIGNS[sign][1] : sign;
    font(pen, word.length > 2 ? 12 : 14, 600);
    const wide = pen.measureText(word).width + 14, box = () => pen.rect(x - wide / 2, y - 11, wide, 22);
    framed(pen, scene.colours.paper, colourOf(sign), 1.5, box);
    write(pen, word, x, y + 0.5, scene.colours.ink);
}
