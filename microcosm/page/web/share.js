/*
 * What leaves the page: a link that holds the state, and the picture as SVG, as PNG or on paper. The SVG is drawn
 * by the functions that draw the canvas, on a pen that writes down what it is told.
 */

/** More marks than this are not written as SVG. */
const MOST_MARKS = 20000;

/** A pen that writes SVG: the methods and fields of a canvas that the picture uses, and no others. */
class Recorder {
    constructor() {
        /** @type {string[]} */ this.parts = [];
        /** Pieces of the path: what is drawn, and the event that it stands for. @type {[string, number][]} */
        this.paths = [];
        this.fillStyle = this.strokeStyle = '#000';
        this.lineWidth = this.globalAlpha = 1;
        this.font = font(12);
        this.textAlign = this.textBaseline = this.lineCap = this.lineJoin = '';
        /** @type {number[]} */ this.dash = [];
    }

    beginPath() { this.paths = [['', -1]]; }
    mark(/** @type {number} */ event) { this.paths.push(['', event]); }
    add(/** @type {string} */ letter, /** @type {number[]} */ ...numbers) {
        this.paths[this.paths.length - 1][0] += letter + numbers.map((number) => Math.round(number * 100) / 100).join(' ');
    }
    moveTo(/** @type {number} */ x, /** @type {number} */ y) { this.add('M', x, y); }
    lineTo(/** @type {number} */ x, /** @type {number} */ y) { this.add('L', x, y); }
    quadraticCurveTo(/** @type {number[]} */ ...numbers) { this.add('Q', ...numbers); }
    closePath() { this.add('Z'); }
    rect(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) {
        this.add('M', x, y);
        this.add('h', width);
        this.add('v', height);
        this.add('h', -width);
        this.add('Z');
    }
    /** Whole circles, and halves. */
    arc(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r, /** @type {number} */ from, /** @type {number} */ to) {
        const [dx, dy] = [r * Math.cos(from), r * Math.sin(from)];
        this.add('M', x + dx, y + dy);
        this.add('a', r, r, 0, 1, 1, -2 * dx, -2 * dy);
        if (to - from > 6) this.add('a', r, r, 0, 1, 1, 2 * dx, 2 * dy);
    }
    setLineDash(/** @type {number[]} */ dash) { this.dash = dash; }
    measureText(/** @type {string} */ text) {
        const pen = /** @type {CanvasRenderingContext2D} */ (find('picture').getContext('2d'));
        pen.font = this.font;
        return pen.measureText(text);
    }

    fill() { this.emit(`fill="${this.fillStyle}"`); }
    stroke() { this.emit(`fill="none" ${this.stroked()}`); }
    stroked() {
        const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(' ')}"` : '';
        return `stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="round"${dash}`;
    }
    faint() { return this.globalAlpha < 1 ? ` opacity="${Math.round(this.globalAlpha * 100) / 100}"` : ''; }
    emit(/** @type {string} */ style) {
        for (const [d, event] of this.paths) {
            if (d && event < 0) this.parts.push(`<path d="${d}" ${style}${this.faint()}/>`);
            else if (d) this.parts.push(`<path class="event" d="${d}" ${style}><title>${escaped(model.name(event))}</title></path>`);
        }
    }
    fillRect(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) {
        const [left, top, wide, high] = [x, y, width, height].map((number) => Math.round(number * 100) / 100);
        this.parts.push(`<rect x="${left}" y="${top}" width="${wide}" height="${high}" fill="${this.fillStyle}"${this.faint()}/>`);
    }
    text(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ style) {
        const [weight, size] = this.font.split(' ');
        const anchor = {center: 'middle', right: 'end'}[this.textAlign] || 'start';
        const down = this.textBaseline === 'middle' ? parseFloat(size) * 0.35 : 0;
        this.parts.push(`<text x="${Math.round(x * 10) / 10}" y="${Math.round((y + down) * 10) / 10}" font-size="${parseFloat(size)}" font-weight="${weight}" text-anchor="${anchor}" ${style}${this.faint()}>${escaped(text)}</text>`);
    }
    fillText(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) {
        this.text(text, x, y, `fill="${this.fillStyle}"`);
    }
    strokeText(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) {
        this.text(text, x, y, `fill="none" ${this.stroked()}`);
    }
}

/** Text as XML holds it: whatever a log calls its events. */
function escaped(/** @type {string} */ text) {
    const said = Array.from(text, (sign) => /^[\ud800-\udfff]$/.test(sign) ? '\ufffd' : sign).join('');
    return said.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
        .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The names of the lanes, as the picture that is saved has them. */
function drawLaneNames(/** @type {any} */ pen, /** @type {View} */ view, /** @type {number} */ wide) {
    pen.fillStyle = view.colours.paper;
    pen.fillRect(0, 0, wide, view.height);
    pen.font = font(scene.rows.unit < 18 ? 10 : 13, 600);
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    pen.fillStyle = view.colours.ink;
    for (const lane of lanesIn(view)) pen.fillText(model.head.lanes[lane].name.slice(0, 24), wide - 10, laneY(view, lane));
}

/** What is seen as SVG; null where it has too many marks. */
function pictureSvg() {
    const {width, height} = size(), view = viewNow(width, height), names = find('lanes').clientWidth;
    const pen = new Recorder(), beside = new Recorder(), {a, b} = app.state;
    drawPicture(/** @type {any} */ (pen), view);
    drawLaneNames(beside, view, names);
    if (pen.parts.length > MOST_MARKS) return null;
    const title = b >= 0 ? `${model.name(a)} ${scene.verdict} ${model.name(b)}` : a >= 0 ? `around ${model.name(a)}` : '';
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${names + width} ${height}" width="${names + width}" height="${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" role="img">`
        + `<title>${escaped([model.head.title, title].filter(Boolean).join(': '))}</title>`
        + `<svg x="${names}" width="${width}" height="${height}">${pen.parts.join('\n')}</svg>${beside.parts.join('\n')}</svg>\n`;
}

/** Hands a file to whoever looks at the page. */
function download(/** @type {Blob} */ blob, /** @type {string} */ ending) {
    const link = el('a', {href: URL.createObjectURL(blob), download: `${model.head.title.replace(/[^\w.-]+/g, '-')}.${ending}`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    note(`Saved ${link.download}`);
}

function save(/** @type {string} */ how) {
    if (how === 'print') return print();
    if (how === 'svg') {
        const text = pictureSvg();
        if (text) download(new Blob([text], {type: 'image/svg+xml'}), 'svg');
        else note(`More than ${MOST_MARKS.toLocaleString('en')} marks are in view: zoom in, or save a PNG.`);
    } else if (how === 'png') {
        const {width, height} = size(), names = find('lanes').clientWidth, canvas = document.createElement('canvas');
        canvas.width = 2 * (names + width);
        canvas.height = 2 * height;
        const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
        pen.setTransform(2, 0, 0, 2, 2 * names, 0);
        drawPicture(pen, viewNow(width, height));
        pen.setTransform(2, 0, 0, 2, 0, 0);
        drawLaneNames(pen, viewNow(width, height), names);
        canvas.toBlob((blob) => { if (blob) download(blob, 'png'); });
    }
}

/** A sign as a small picture, in the colour of the text that its class gives it. */
function icon(/** @type {string} */ sign) {
    const pen = /** @type {any} */ (new Recorder()), name = sign in SIGNS ? SIGNS[sign][0] : 'missing';
    pen.strokeStyle = pen.fillStyle = 'currentColor';
    pen.beginPath();
    if (sign === 'lost') stub(pen, 2, 2, 1, 10);
    else if (sign === 'gap') {
        pen.lineWidth = 1.5;
        zigzag(pen, 8, 8, 6.5);
        pen.stroke();
    } else {
        outline(pen, sign, 8, 8, 5);
        finish(pen, sign, 'currentColor', 5);
    }
    return drawing(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" class="sign ${name}" aria-hidden="true">${pen.parts.join('')}</svg>`);
}

/** SVG that this page wrote, as an element of it. */
function drawing(/** @type {string} */ text) {
    return document.importNode(new DOMParser().parseFromString(text, 'image/svg+xml').documentElement, true);
}

window.addEventListener('beforeprint', () => {
    const root = document.documentElement, {theme} = root.dataset;
    root.dataset.theme = 'light';
    scene.colours = palette();
    const text = pictureSvg();
    if (text) find('stage').after(el('figure', {id: 'printed'}, drawing(text)));
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    scene.colours = palette();
});
window.addEventListener('afterprint', () => find('printed')?.remove());

// -- links ------------------------------------------------------------------------------------------------------

/** So much of the digest tells one page from another in a link. */
const DIGITS = 12;

const round = (/** @type {number} */ number) => String(+number.toPrecision(7));

/** The state as the part of the address behind `#`. */
function linkOf(/** @type {State} */ state) {
    const said = new URLSearchParams();
    if (state.a >= 0) said.set('a', model.name(state.a));
    if (state.b >= 0) said.set('b', model.name(state.b));
    if (state.focus >= 0) said.set('at', model.name(state.focus));
    said.set('x', round(state.x0));
    said.set('k', round(state.k));
    if (state.y0) said.set('y', round(state.y0));
    if (state.axis !== 'steps') said.set('t', state.axis);
    if (state.find) said.set('find', state.find);
    if (state.whatif) said.set('what', `a${state.whatif.sign}b`);
    if (state.order) said.set('order', state.order.join('.'));
    if (state.hidden.size) said.set('hide', [...state.hidden].join('.'));
    const shown = /** @type {const} */ (['panel', 'list', 'table', 'cut']).filter((name) => state[name]);
    if (shown.join() !== 'panel') said.set('show', shown.join('.'));
    said.set('digest', model.head.digest.slice(0, DIGITS));
    return said.toString();
}

/** Goes where the address says. What it names and this page does not have is said, and left out. */
function readLink() {
    const said = new URLSearchParams(location.hash.slice(1));
    if (!said.has('digest') && !['a', 'b', 'find', 'x'].some((name) => said.has(name))) return false;
    const missing = /** @type {string[]} */ ([]), number = (/** @type {string} */ name) => parseFloat(said.get(name) || '');
    const event = (/** @type {string} */ name) => {
        const called = said.get(name), found = called == null ? -1 : model.find(called);
        if (called != null && found < 0) missing.push(called);
        return found;
    };
    const lanes = (/** @type {string} */ name) => (said.get(name) || '').split('.').filter(Boolean).map(Number)
        .filter((lane) => lane in model.head.lanes);
    const [a, b, focus, order] = [event('a'), event('b'), event('at'), lanes('order')], axis = /** @type {any} */ (said.get('t'));
    const shown = (said.get('show') ?? 'panel').split('.'), what = /^a(<|>|\|\|)b$/.exec(said.get('what') || '');
    app.set({axis: axes().includes(axis) ? axis : 'steps', hidden: new Set(lanes('hide')),
        order: new Set(order).size === model.head.lanes.length ? Int32Array.from(order) : app.state.order,
        panel: shown.includes('panel'), list: shown.includes('list'), table: shown.includes('table')});
    app.set({a, b: a >= 0 && b !== a ? b : -1, find: said.get('find') || ''});
    app.set({focus, cut: a >= 0 && shown.includes('cut'), whatif: what && a >= 0 && b >= 0 ? {a, sign: what[1], b} : null});
    if (number('k') > 0) app.set({k: Math.min(400, number('k')), x0: number('x') || 0, y0: Math.max(0, number('y') || 0)});
    const digest = said.get('digest');
    if (digest && digest !== model.head.digest.slice(0, DIGITS)) {
        note(`This link was made for another file; here it shows what it can.${missing.length ? ` Not in this one: ${missing.join(', ')}.` : ''}`);
    } else if (missing.length) note(`The link names what is not in this page: ${missing.join(', ')}.`);
    return true;
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
    readLink();
    app.on(null, () => { waiting ||= window.setTimeout(write, 500); });
    window.addEventListener('hashchange', readLink);
});
