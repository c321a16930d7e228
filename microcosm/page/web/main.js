/*
 * Begins the page: reads the columns, makes the bar, the lanes' names and the legend, and has the picture drawn
 * before the next frame whenever something changed.
 */

/** Room at the left and right of the whole log, in pixels. */
const MARGIN = 34;

/** The scale at which the whole log was shown last. */
let whole = 0;

/** The size of the picture. */
function size() {
    const {clientWidth, clientHeight} = find('picture');
    return {width: max(1, clientWidth), height: max(1, clientHeight)};
}

/** Finds what a frame is drawn by, as it is now. */
function look() {
    const {x0, k, y0} = app.state, {width, height} = size();
    view.x0 = x0;
    view.k = k;
    view.y0 = y0;
    view.width = width;
    view.height = height;
    view.left = x0 - 12 / k;
    view.right = x0 + (width + 12) / k;
    view.lanes = scene.shown.filter((lane) => scene.y[lane] + scene.tall[lane] / 2 >= y0 - 1 && scene.y[lane] - scene.tall[lane] / 2 <= y0 + height - RULER + 1);
    view.r = max(1.6, min(k >= 42 ? 5.5 : k >= 12 ? 4.5 : k * 0.36, scene.unit * 0.24));
    view.rim = model.who ? 2.2 * view.r : view.r + 1.5;
}

/** The scale at which the whole log is in view; a frame that is hidden, or not laid out yet, has a width of 1. */
function wholeScale() {
    return min(200, max(1, size().width - 2 * MARGIN) / max(1e-9, scene.end || 1));
}

function showWhole() {
    const k = wholeScale();
    whole = k;
    app.set({k, x0: -MARGIN / k, y0: 0});
}

/** When the size changes: the whole log stays the whole log. */
function sized() {
    if (app.state.k === whole) showWhole(); else app.redraw();
}

/** Zooms so that what stands at a pixel stays there. */
function zoomAbout(/** @type {number} */ by, /** @type {number} */ pixel) {
    const {x0, k} = app.state, closer = max(wholeScale() / 2, min(400, k * by));
    app.set({k: closer, x0: held(x0 + pixel / k - pixel / closer, closer)});
}

/** An x at the left edge that keeps some of the log in view. */
function held(/** @type {number} */ x0, /** @type {number} */ k) {
    const {width} = size(), half = width / 2 / k;
    return max(-half, min(scene.end + half - width / k + half, x0));
}

/** Pans by a part of the width, and by pixels of height. */
function pan(/** @type {number} */ part, /** @type {number} */ down) {
    const {x0, k, y0} = app.state, {width, height} = size();
    const lowest = max(0, scene.deep - (height - RULER));
    app.set({x0: held(x0 + part * width / k, k), y0: max(0, min(lowest, y0 + down))});
}

/** Pans so that an event is in view, away from the rims. */
function reveal(/** @type {number} */ event) {
    const {k, y0} = app.state, {width, height} = size(), rim = 12;
    const at = (scene.x[event] - app.state.x0) * k, lane = model.lane(event);
    if (scene.y[lane] < 0) return;
    const top = scene.y[lane] - scene.tall[lane] / 2, low = top + scene.tall[lane];
    const x0 = at >= rim && at <= width - rim ? app.state.x0 : scene.x[event] - width / (at < 0 ? 3 : 1.5) / k;
    app.set({x0, y0: top < y0 ? top : low > y0 + height - RULER ? low - height + RULER : y0});
}

/** What an event is besides its name, in words: its process, its line, and how it stands to A. */
function described(/** @type {number} */ event) {
    const {a, b} = app.state, line = model.line(event), {known, name} = model.lanes[model.lane(event)];
    return [known && `process ${name}`, line && `line ${line}`, event === b && 'chosen as B', event === a && 'chosen as A',
        a >= 0 && a !== event && `${SIGNS[scene.sign(event)][2]} ${model.name(a)}`].filter(Boolean);
}

// -- frames -----------------------------------------------------------------------------------------------------

let asked = 0;

app.redraw = () => {
    if (!asked && model.head) asked = requestAnimationFrame(frame);
};

/** A canvas as sharp as the screen, its pen in the pixels of the page. @returns {CanvasRenderingContext2D} */
function sharp(/** @type {HTMLCanvasElement} */ canvas, /** @type {number} */ width, /** @type {number} */ height) {
    const scale = window.devicePixelRatio, [wide, high] = [round(width * scale), round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    return pen;
}

function frame() {
    const began = performance.now(), {width, height} = size();
    asked = 0;
    newRows();
    drawPicture(sharp(find('picture'), width, height));
    frameMinimap();
    performance.clearMeasures('draw');
    performance.measure('draw', {start: began});
    frameLanes();
}

/** The names of the lanes in view, beside them. */
function frameLanes() {
    const box = find('lanes'), {y0} = app.state, {height} = size();
    const focused = app.state.focus >= 0 ? model.lane(app.state.focus) : -1;
    const lanes = scene.shown.filter((lane) => scene.y[lane] - y0 > -20 && scene.y[lane] - y0 < height + 20);
    box.classList.toggle('small', scene.unit < 18);
    box.classList.toggle('roomy', scene.unit > 64);
    while (box.children.length > lanes.length) box.lastChild.remove();
    while (box.children.length < lanes.length) box.append(el('span'));
    lanes.forEach((lane, at) => {
        const name = box.children[at], {name: text, known} = model.lanes[lane];
        if (name.textContent !== text) name.textContent = name.title = text;
        name.dataset.lane = lane;
        name.className = [known ? '' : 'unknown', lane === focused ? 'here' : ''].join(' ').trim();
        name.style.top = `${RULER + scene.y[lane] - y0}px`;
    });
}

// -- what changes what is drawn ---------------------------------------------------------------------------------

/** Signs beside A are worked out where they are seen, and kept. */
const SIGN_LIST = ['', ...Object.keys(SIGNS)];

function newCone() {
    const {a, b} = app.state;
    scene.cone = a < 0 ? null : coneOf(a);
    scene.sign = () => '';
    if (a >= 0) {
        const {sign} = regions(a), kept = new Uint8Array(model.n), {past, future} = scene.cone;
        scene.sign = (event) => {
            if (!kept[event]) {
                const chain = model.chainOf(event);
                kept[event] = event < past[chain] ? 1 : event >= future[chain] ? 2 : SIGN_LIST.indexOf(sign(event));
            }
            return SIGN_LIST[kept[event]];
        };
    }
    scene.verdict = a >= 0 && b >= 0 ? verdict(a, b) : '';
    newSupposed();
    scene.path = (scene.verdict === '<' ? path(a, b) : scene.verdict === '>' ? path(b, a) : null) ?? [];
}

/** The cone of A if what is supposed were so: what comes before one end then comes before the other. */
function newSupposed() {
    const {whatif, a} = app.state;
    scene.supposed = null;
    if (!whatif || whatif.a !== a || whatif.sign === '||' || '<>||'.includes(scene.verdict)) return;
    const own = scene.cone, other = coneOf(whatif.b), chain = model.chainOf(whatif.b);
    other.past[chain] = whatif.b + 1;
    other.future[chain] = whatif.b;
    scene.supposed = whatif.sign === '<'
        ? {past: own.past, future: own.future.map((/** @type {number} */ at, /** @type {number} */ c) => min(at, other.future[c]))}
        : {past: own.past.map((/** @type {number} */ at, /** @type {number} */ c) => max(at, other.past[c])), future: own.future};
}

/** The cone of an event by the numbers of events: the first of each chain that is not before, the first after. */
function coneOf(/** @type {number} */ a) {
    const {past, future} = cone(a);
    return {past: past.map((/** @type {number} */ at, /** @type {number} */ c) => model.offset[c] + at),
        future: future.map((/** @type {number} */ at, /** @type {number} */ c) => model.offset[c] + at)};
}

function newAxis() {
    place();
    scene.bendsAt = '';
    const odd = [];
    for (let i = 0; i < model.n; i++) if (model.kind[i] & 108) odd.push(i);
    scene.marks = byLane(odd);
    scene.runs = app.state.fold ? foldedRuns() : new Map();
    scene.folds = scene.runs.size ? byLane([...scene.runs.keys()]) : null;
    newFound();
}

function newFound() {
    const {found} = app.state;
    scene.found = found.length ? byLane(found) : null;
}

/** Who talks to whom, the lanes that do so most first. Cost: linear, once. */
function talking() {
    const lanes = model.lanes.length;
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (let edge = 0; edge < model.src.length; edge++) {
        const from = model.lane(model.src[edge]), to = model.lane(model.dst[edge]);
        if (from === to || model.why[edge] > 1) continue;
        const pair = min(from, to) * lanes + max(from, to);
        counts.set(pair, (counts.get(pair) || 0) + 1);
    }
    return [...counts].sort((one, other) => other[1] - one[1]).slice(0, 120)
        .map(([pair, count]) => /** @type {[number, number, number]} */ ([floor(pair / lanes), pair % lanes, count]));
}

/** Pairs that a token says are related, as far as nothing sharper is known; of a token with few events. */
function locked() {
    const found = /** @type {[number, string, number][]} */ ([]);
    for (const events of /** @type {number[][]} */ (Object.values(model.head.tokens ?? {}))) {
        if (events.length > 12) continue;
        events.forEach((a, at) => events.slice(at + 1).forEach((b) => { if (verdict(a, b) === '<>') found.push([a, '<>', b]); }));
    }
    return found;
}

function newColours() {
    const root = document.documentElement, {theme} = app.state;
    if (theme === 'auto') delete root.dataset.theme; else root.dataset.theme = theme;
    scene.colours = palette();
    scene.family = getComputedStyle(root).fontFamily;
    app.redraw();
}

// -- the bar ----------------------------------------------------------------------------------------------------

function tellCounts() {
    const names = find('lanes'), pen = find('minimap').getContext('2d'), lanes = model.lanes;
    font(pen, 14, 600);
    names.hidden = !lanes.some((/** @type {any} */ lane) => lane.known);
    names.style.width = `${max(...lanes.slice(0, 2000).map((/** @type {any} */ lane) => pen.measureText(lane.name.slice(0, 60)).width)) + 24}px`;
    const lost = model.kind.reduce((/** @type {number} */ sum, /** @type {number} */ kind) => sum + (kind & 12 ? 1 : 0), 0);
    const counts = /** @type {[number, string][]} */ ([[model.n, 'event'], [lanes.filter((/** @type {any} */ lane) => lane.known).length, 'process'],
        [model.head.gaps.length, 'gap'], [lost, 'lost message']]);
    find('counts').textContent = counts.filter(([count]) => count).map(([count, word]) => numbered(count, word)).join(', ');
}

function makeBar() {
    find('save').onchange = (/** @type {any} */ {target}) => {
        save(target.value);
        target.value = '';
    };
    const show = () => {
        for (const name of /** @type {const} */ (['axis', 'theme'])) dressed(find(name), {text: app.state[name], 'aria-label': `${name}: ${app.state[name]}`});
        for (const name of PARTS) {
            dressed(find(`show-${name}`), {'aria-pressed': String(app.state[name])});
            if (name !== 'fold') find(name).hidden = !app.state[name];
        }
    };
    app.on(['axis', 'theme', ...PARTS], show);
    show();
    const words = find('find');
    let typing = 0;
    words.oninput = () => {
        clearTimeout(typing);
        typing = window.setTimeout(() => app.set({find: words.value}), 150);
    };
    find('search').onsubmit = (/** @type {Event} */ event) => {
        event.preventDefault();
        clearTimeout(typing);
        app.set({find: words.value});
        find('picture').focus();
    };
    app.on(['find'], (state) => { if (words.value !== state.find) words.value = state.find; });
    find('note').lastElementChild.onclick = () => note('');
}

function makeLegend() {
    const words = Object.entries(SIGNS).filter(([sign]) => sign !== 'unsaid' || !model.head.shortcuts).map(([sign, [, word]]) => [sign, word]);
    find('legend').replaceChildren(...[...words, ...model.why.includes(2) ? [['clock', 'before, by clocks alone']] : [], ['gap', 'gap'], ['lost', 'lost message']].map(([sign, word]) => el('li', {}, icon(sign), word)),
        ...(model.head.other?.names ?? []).map((/** @type {string} */ name, /** @type {number} */ at) => el('li', {text: `${['left', 'right'][at]} half and ${at + 1}: ${name}`})));
}

/** Takes a model for the one that is shown: at the beginning, and whenever a session knows something else. */
function taken(/** @type {Head} */ head, /** @type {any} */ found) {
    shown(head, found);
    scene.missing = new Map(model.head.gaps);
    scene.chains = grouped(model.laneOf.length, model.lanes.length, (chain) => model.laneOf[chain]);
    scene.talk = talking();
    scene.given = [...head.given, ...locked()];
    newAxis();
    newRows();
    tellCounts();
}

/** Reads the columns and begins; what cannot be read is said. */
async function begun() {
    const {head, texts} = await app.read();
    newColours();
    taken(head, await unpacked(head, texts));
    makeBar();
    showWhole();
    makeLegend();
    hearPointer();
    app.on(['axis', 'fold'], () => { newAxis(); newRows(); showWhole(); });
    app.on(['hidden'], newRows);
    app.on(['a', 'b'], newCone);
    app.on(['whatif'], () => { if (scene.cone) newSupposed(); });
    app.on(['found'], newFound);
    app.on(['order'], (state) => { if (state.order) model.arrange(state.order); newRows(); });
    app.on(['theme'], newColours);
    app.on(['focus', 'a', 'b'], ({focus, a}, changed) => {
        const event = focus >= 0 ? focus : a;
        if (event < 0) return;
        const words = [model.name(event), ...described(event)].join(', ');
        dressed(find('picture'), {'aria-label': words});
        if (!changed.includes('focus')) return;
        reveal(event);
        if (document.activeElement === find('picture')) app.say(words);
    });
    for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
        matchMedia(query).onchange = newColours;
    }
    new ResizeObserver(sized).observe(find('stage'));
    for (const begin of app.starts) begin();
    document.body.dataset.ready = 'true';
}

begun().catch((error) => {
    note(`This page could not be read: ${error.message}`);
    throw error;
});
