/*
 * What leaves the page: a link that holds the state, and the picture as SVG, as PNG or on paper. The SVG is drawn
 * by the functions that draw the canvas, on a pen that writes down what it is told.
 */

/** More marks than this are not written as SVG. */
const MOST_MARKS = 20000;

/** A number as SVG has it. */
const short = (/** @type {number} */ number) => round(number * 100) / 100;

/** A pen that writes SVG: the methods and fields of a canvas that the picture uses, and no others. */
function recorder() {
    /** Pieces of the path: what is drawn, and the event that it stands for. @type {[string, number][]} */
    let paths = [];
    /** @type {string[]} */ const parts = [];
    /** @type {number[]} */ let dashes = [];
    const add = (/** @type {string} */ letter, /** @type {number[]} */ ...numbers) => { paths[paths.length - 1][0] += letter + numbers.map(short).join(' '); };
    const faint = () => pen.globalAlpha < 1 ? ` opacity="${short(pen.globalAlpha)}"` : '';
    const stroked = () => `fill="none" stroke="${pen.strokeStyle}" stroke-width="${pen.lineWidth}" stroke-linejoin="round"${dashes.length ? ` stroke-dasharray="${dashes.join(' ')}"` : ''}`;
    const emit = (/** @type {string} */ style) => {
        for (const [d, event] of paths) {
            if (d) parts.push(event < 0 ? `<path d="${d}" ${style}${faint()}/>`
                : `<path class="event" d="${d}" ${style}><title>${escaped(model.name(event))}</title></path>`);
        }
    };
    const pen = /** @type {any} */ ({
        parts, globalAlpha: 1,
        beginPath() { paths = [['', -1]]; },
        mark(/** @type {number} */ event) { paths.push(['', event]); },
        moveTo: (/** @type {number[]} */ ...to) => add('M', ...to),
        lineTo: (/** @type {number[]} */ ...to) => add('L', ...to),
        quadraticCurveTo: (/** @type {number[]} */ ...to) => add('Q', ...to),
        closePath: () => add('Z'),
        rect(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) {
            add('M', x, y, x + width, y, x + width, y + height, x, y + height);
            add('Z');
        },
        /** Whole circles, and halves. */
        arc(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r, /** @type {number} */ from, /** @type {number} */ to) {
            const dx = r * Math.cos(from), dy = r * Math.sin(from);
            add('M', x + dx, y + dy);
            add('a', r, r, 0, 1, 1, -2 * dx, -2 * dy);
            if (to - from > 6) add('a', r, r, 0, 1, 1, 2 * dx, 2 * dy);
        },
        setLineDash(/** @type {number[]} */ dash) { dashes = dash; },
        measureText(/** @type {string} */ text) {
            const real = find('picture').getContext('2d');
            real.font = pen.font;
            return real.measureText(text);
        },
        fill: () => emit(`fill="${pen.fillStyle}"`),
        stroke: () => emit(stroked()),
        fillRect(/** @type {number[]} */ ...box) {
            const [x, y, width, height] = box.map(short);
            parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${pen.fillStyle}"${faint()}/>`);
        },
        fillText(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, style = `fill="${pen.fillStyle}"`) {
            const [weight, size] = pen.font.split(' ').map(parseFloat), anchor = {center: 'middle', right: 'end'}[/** @type {'center'|'right'} */ (pen.textAlign)];
            parts.push(`<text x="${short(x)}" y="${short(y + size * 0.35)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" ${style}${faint()}>${escaped(text)}</text>`);
        },
        strokeText: (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) => pen.fillText(text, x, y, stroked()),
    });
    return pen;
}

/** Text as XML holds it: whatever a log calls its events. */
function escaped(/** @type {string} */ text) {
    return marked(text).replace(/[&<>"]/g, (/** @type {string} */ sign) => `&#${sign.charCodeAt(0)};`);
}

/** What is seen, with the names of the lanes beside it: with two pens, for the names stand to the left of the picture. */
function drawBoth(/** @type {any} */ pen, /** @type {any} */ beside) {
    const wide = find('lanes').clientWidth;
    drawPicture(pen(wide));
    const names = beside(0);
    paint(names, scene.colours.paper, 0, 0, wide, view.height);
    font(names, scene.unit < 18 ? 10 : 13, 600, 'right');
    for (const lane of view.lanes) write(names, model.lanes[lane].name.slice(0, 24), wide - 10, laneY(lane), scene.colours.ink);
    return [wide, view.width, view.height];
}

/** What is seen as SVG; null where it has too many marks. */
function pictureSvg() {
    const pen = recorder(), beside = recorder(), {a, b} = app.state;
    const [names, width, height] = drawBoth(() => pen, () => beside);
    if (pen.parts.length > MOST_MARKS) return null;
    const title = b >= 0 ? `: ${model.name(a)} ${scene.verdict} ${model.name(b)}` : a >= 0 ? `: around ${model.name(a)}` : '';
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${names + width} ${height}" width="${names + width}" height="${height}" font-family="${escaped(scene.family)}" role="img">`
        + `<title>${escaped(model.head.title + title)}</title>`
        + `<svg x="${names}" width="${width}" height="${height}">${pen.parts.join('\n')}</svg>${beside.parts.join('\n')}</svg>\n`;
}

/** Hands a file to whoever looks at the page. */
function download(/** @type {Blob} */ blob, /** @type {string} */ ending) {
    const link = el('a', {href: URL.createObjectURL(blob), download: `${model.head.title.replace(/[^\w.-]+/g, '-')}.${ending}`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    note(`Saved ${link.download}`);
}

/** Saves what is seen, or prints it. */
function save(/** @type {string} */ how) {
    if (how === 'print') return print();
    if (how === 'svg') {
        const text = pictureSvg();
        if (text) download(new Blob([text], {type: 'image/svg+xml'}), how);
        else note(`More than ${numbered(MOST_MARKS)} marks are in view: zoom in, or save a PNG.`);
    } else if (how === 'png') {
        const {width, height} = size(), canvas = dressed(document.createElement('canvas'), {width: 2 * (find('lanes').clientWidth + width), height: 2 * height});
        const pen = (/** @type {number} */ left) => {
            const made = canvas.getContext('2d');
            made.setTransform(2, 0, 0, 2, 2 * left, 0);
            return made;
        };
        drawBoth(pen, pen);
        canvas.toBlob((/** @type {Blob} */ blob) => download(blob, how));
    }
}

/** A sign as a small picture, in the colour of the text that its class gives it. */
function icon(/** @type {string} */ sign) {
    const pen = recorder(), ink = 'currentColor';
    if (sign === 'lost') stub(pen, ink, 2, 2, 1, 10);
    else if (sign === 'gap') stroked(pen, ink, 1.5, () => zigzag(pen, 8, 8, 6.5));
    else if (sign === 'clock') stroked(pen, ink, 1, () => dial(pen, 8, 8));
    else {
        pen.beginPath();
        outline(pen, sign, 8, 8, 5);
        finish(pen, sign, ink, 5);
    }
    return drawing(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" class="sign ${SIGNS[sign]?.[0] ?? sign}" aria-hidden="true">${pen.parts.join('')}</svg>`);
}

/** SVG that this page wrote, as an element of it. */
function drawing(/** @type {string} */ text) {
    return document.importNode(new DOMParser().parseFromString(text, 'image/svg+xml').documentElement, true);
}

window.onbeforeprint = () => {
    document.documentElement.dataset.theme = 'light';
    scene.colours = palette();
    const text = pictureSvg();
    if (text) find('stage').after(el('figure', {id: 'printed'}, drawing(text)));
    newColours();
};
window.onafterprint = () => find('printed')?.remove();

// -- links ------------------------------------------------------------------------------------------------------

/** So much of the digest tells one page from another in a link. */
const DIGITS = 12;

/** The state as the part of the address behind `#`. */
function linkOf(/** @type {State} */ state) {
    const name = (/** @type {number} */ i) => i >= 0 && model.name(i), round = (/** @type {number} */ number) => String(+number.toPrecision(7));
    const shown = /** @type {const} */ ([...PARTS, 'cut']).filter((part) => state[part]).join('.');
    return new URLSearchParams(Object.entries({
        a: name(state.a), b: name(state.b), at: name(state.focus), x: round(state.x0), k: round(state.k), y: state.y0 && round(state.y0),
        t: state.axis !== 'steps' && state.axis, find: state.find, what: state.whatif && `a${state.whatif.sign}b`, order: state.order?.join('.'),
        hide: [...state.hidden].join('.'), show: shown !== 'panel' && (shown || 'none'), digest: model.head.digest.slice(0, DIGITS),
    }).filter(([, value]) => value)).toString();
}

/** Goes where the address says. What it names and this page does not have is said, and left out. */
function readLink() {
    const said = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if (!['digest', 'a', 'b', 'find', 'x'].some((name) => name in said)) return;
    const missing = /** @type {string[]} */ ([]), number = (/** @type {string} */ name) => parseFloat(said[name]) || 0;
    const event = (/** @type {string} */ name) => {
        let found = -1;
        if (name in said && (found = model.find(said[name])) < 0) missing.push(said[name]);
        return found;
    };
    const lanes = (/** @type {string} */ name) => (said[name] ?? '').split('.').filter(Boolean).map(Number).filter((lane) => lane in model.lanes);
    const [a, b, focus, order] = [event('a'), event('b'), event('at'), lanes('order')], axis = /** @type {any} */ (said.t);
    const shown = (said.show ?? 'panel').split('.'), what = /^a(<|>|\|\|)b$/.exec(said.what);
    app.set({axis: axes().includes(axis) ? axis : 'steps', hidden: new Set(lanes('hide')),
        order: new Set(order).size === model.lanes.length ? Int32Array.from(order) : app.state.order,
        ...Object.fromEntries(PARTS.map((part) => [part, shown.includes(part)]))});
    app.set({a, b: a >= 0 && b !== a ? b : -1, find: said.find ?? ''});
    app.set({focus, cut: a >= 0 && shown.includes('cut'), whatif: what && a >= 0 && b >= 0 ? {a, sign: what[1], b} : null});
    if (number('k') > 0) app.set({k: min(400, number('k')), x0: number('x'), y0: max(0, number('y'))});
    if (said.digest && said.digest !== model.head.digest.slice(0, DIGITS)) {
        note(`This link was made for another file; here it shows what it can.${missing.length ? ` Not in this one: ${missing.join(', ')}.` : ''}`);
    } else if (missing.length) note(`The link names what is not in this page: ${missing.join(', ')}.`);
}

app.start(() => {
    let waiting = 0, written = '';
    const write = () => {
        waiting = 0;
        const link = linkOf(app.state);
        if (link === written) return;
        written = link;
        try {
            history.replaceState(null, '', `#${link}`);
        } catch { /* a page inside another one has no address of its own */ }
    };
    model.head.pairs.slice(0, 1).map((/** @type {number[]} */ [a, b]) => app.set({a, b}));
    readLink();
    app.on(null, () => { waiting ||= window.setTimeout(write, 500); });
    window.onhashchange = readLink;
});
