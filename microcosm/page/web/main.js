/*
 * Begins the page: reads the columns, makes the bar, the lanes' names and the legend, and has the picture drawn
 * before the next frame whenever something changed.
 */

/** Room at the left and right of the whole log, in pixels. */
const MARGIN = 34;

/** The size of the picture. */
function size() {
    const {clientWidth, clientHeight} = find('picture');
    return {width: max(1, clientWidth), height: max(1, clientHeight)};
}

/** The lanes of which something is in view, top to bottom. */
function lanesIn(/** @type {number} */ y0, /** @type {number} */ height) {
    const {y, tall, shown} = scene.rows;
    return shown.filter((lane) => y[lane] + tall[lane] / 2 >= y0 - 1 && y[lane] - tall[lane] / 2 <= y0 + height - RULER + 1);
}

/** What a frame is drawn by, at this scale. @returns {View} */
function viewNow(/** @type {number} */ width, /** @type {number} */ height) {
    const {x0, k, y0} = app.state, {unit} = scene.rows;
    const r = max(1.6, min(k >= 42 ? 5.5 : k >= 12 ? 4.5 : k * 0.36, unit * 0.24));
    return {x0, k, y0, width, height, colours: scene.colours, r, rim: model.columns.who ? 2.2 * r : r + 1.5,
        left: x0 - 12 / k, right: x0 + (width + 12) / k, lanes: lanesIn(y0, height)};
}

/** The scale at which the whole log is in view. */
function wholeScale() {
    return min(200, (size().width - 2 * MARGIN) / max(1e-9, scene.at.end || 1));
}

function showWhole() {
    const k = wholeScale();
    app.set({k, x0: -MARGIN / k, y0: 0});
}

/** Zooms so that what stands at a pixel stays there. */
function zoomAbout(/** @type {number} */ by, /** @type {number} */ pixel) {
    const {x0, k} = app.state, closer = max(wholeScale() / 2, min(400, k * by));
    app.set({k: closer, x0: held(x0 + pixel / k - pixel / closer, closer)});
}

/** An x at the left edge that keeps some of the log in view. */
function held(/** @type {number} */ x0, /** @type {number} */ k) {
    const {width} = size(), half = width / 2 / k;
    return max(-half, min(scene.at.end + half - width / k + half, x0));
}

/** Pans by a part of the width, and by pixels of height. */
function pan(/** @type {number} */ part, /** @type {number} */ down) {
    const {x0, k, y0} = app.state, {width, height} = size();
    const lowest = max(0, scene.rows.height - (height - RULER));
    app.set({x0: held(x0 + part * width / k, k), y0: max(0, min(lowest, y0 + down))});
}

/** Pans so that an event is in view, away from the rims. */
function reveal(/** @type {number} */ event) {
    const {k, y0} = app.state, {width, height} = size(), rim = 12;
    const at = (scene.at.x[event] - app.state.x0) * k, lane = model.lane(event);
    if (scene.rows.y[lane] < 0) return;
    const top = scene.rows.y[lane] - scene.rows.tall[lane] / 2, low = top + scene.rows.tall[lane];
    const x0 = at >= rim && at <= width - rim ? app.state.x0 : scene.at.x[event] - width / (at < 0 ? 3 : 1.5) / k;
    app.set({x0, y0: top < y0 ? top : low > y0 + height - RULER ? low - height + RULER : y0});
}

/** What an event is besides its name, in words: its process, its line, and how it stands to A. */
function described(/** @type {number} */ event) {
    const {a, b} = app.state, line = model.line(event), {known, name} = model.head.lanes[model.lane(event)];
    return [known && `process ${name}`, line && `line ${line}`, event === b && 'chosen as B', event === a && 'chosen as A',
        a >= 0 && a !== event && `${SIGNS[scene.sign(event)][2]} ${model.name(a)}`].filter(Boolean);
}

// -- frames -----------------------------------------------------------------------------------------------------

let asked = 0;

app.redraw = () => {
    if (!asked && scene.at) asked = requestAnimationFrame(frame);
};

/** A canvas as sharp as the screen, its pen in the pixels of the page. @returns {CanvasRenderingContext2D} */
function sharp(/** @type {HTMLCanvasElement} */ canvas, /** @type {number} */ width, /** @type {number} */ height) {
    const scale = window.devicePixelRatio || 1, [wide, high] = [round(width * scale), round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    return pen;
}

function frame() {
    const began = performance.now(), {width, height} = size();
    asked = 0;
    newRows();
    drawPicture(sharp(find('picture'), width, height), viewNow(width, height));
    frameMinimap();
    performance.clearMeasures('draw');
    performance.measure('draw', {start: began});
    frameLanes();
}

/** The names of the lanes in view, beside them. */
function frameLanes() {
    const box = find('lanes'), {y0} = app.state, {shown, y, unit} = scene.rows, {height} = size();
    const focused = app.state.focus >= 0 ? model.lane(app.state.focus) : -1;
    const lanes = shown.filter((lane) => y[lane] - y0 > -20 && y[lane] - y0 < height + 20);
    box.classList.toggle('small', unit < 18);
    box.classList.toggle('roomy', unit > 64);
    while (box.children.length > lanes.length) box.lastChild.remove();
    while (box.children.length < lanes.length) box.append(el('span'));
    lanes.forEach((lane, at) => {
        const name = box.children[at], {name: text, known} = model.head.lanes[lane];
        if (name.textContent !== text) name.textContent = name.title = text;
        name.dataset.lane = lane;
        name.className = [known ? '' : 'unknown', lane === focused ? 'here' : ''].join(' ').trim();
        name.style.top = `${RULER + y[lane] - y0}px`;
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
    const {past, future} = cone(a), {offset} = model.chains;
    return {past: past.map((/** @type {number} */ at, /** @type {number} */ c) => offset[c] + at),
        future: future.map((/** @type {number} */ at, /** @type {number} */ c) => offset[c] + at)};
}

function newAxis() {
    scene.at = places(app.state.axis);
    scene.bendsAt = '';
    const odd = [];
    for (let i = 0; i < model.n; i++) if (model.kind[i] & 108) odd.push(i);
    scene.marks = byLane(odd, scene.at.x);
    scene.runs = app.state.fold ? foldedRuns() : new Map();
    scene.folds = scene.runs.size ? byLane([...scene.runs.keys()], scene.at.x) : null;
    newFound();
}

function newRows() {
    scene.rows = rows(scene.at, size().height - RULER - 6);
}

function newFound() {
    const {found} = app.state;
    scene.found = found.length ? byLane(found, scene.at.x) : null;
}

/** Who talks to whom, the lanes that do so most first. Cost: linear, once. */
function talking() {
    const lanes = model.head.lanes.length, {src, dst, why} = model.edges;
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (let edge = 0; edge < src.length; edge++) {
        const from = model.lane(src[edge]), to = model.lane(dst[edge]);
        if (from === to || why[edge] > 1) continue;
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
    app.redraw();
}

// -- the bar ----------------------------------------------------------------------------------------------------

function tellCounts() {
    const names = find('lanes'), pen = find('minimap').getContext('2d'), {lanes} = model.head;
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
        for (const name of /** @type {const} */ (['panel', 'list', 'table', 'fold'])) {
            dressed(find(`show-${name}`), {'aria-pressed': String(app.state[name])});
            if (name !== 'fold') find(name).hidden = !app.state[name];
        }
    };
    app.on(['axis', 'theme', 'panel', 'list', 'table', 'fold'], show);
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
    const {head} = model, icons = Object.entries(SIGNS).filter(([sign]) => sign !== 'unsaid' || !head.shortcuts);
    find('legend').replaceChildren(...icons.map(([sign, [, word]]) => el('li', {}, icon(sign), word)),
        el('li', {}, icon('gap'), 'gap'), el('li', {}, icon('lost'), 'lost message'),
        ...(head.other?.names ?? []).map((/** @type {string} */ name, /** @type {number} */ at) => el('li', {text: `${['left', 'right'][at]} half and ${at + 1}: ${name}`})));
}

/** Takes a model for the one that is shown: at the beginning, and whenever a session knows something else. */
function taken(/** @type {any} */ fresh) {
    model = fresh;
    const {chains, head} = model, count = chains.lane.length;
    scene.missing = new Map(head.gaps);
    scene.chainsFrom = new Int32Array(head.lanes.length + 1);
    for (let chain = 0; chain < count; chain++) scene.chainsFrom[chains.lane[chain] + 1]++;
    for (let lane = 0; lane < head.lanes.length; lane++) scene.chainsFrom[lane + 1] += scene.chainsFrom[lane];
    scene.chains = upTo(count).sort((c, d) => chains.lane[c] - chains.lane[d] || c - d);
    scene.talk = talking();
    scene.given = [...head.given, ...locked()];
    newAxis();
    newRows();
    tellCounts();
}

/** Reads the columns and begins; what cannot be read is said. */
async function begun() {
    taken(await readModel());
    makeBar();
    newColours();
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
        find('picture').setAttribute('aria-label', words);
        if (!changed.includes('focus')) return;
        reveal(event);
        if (document.activeElement === find('picture')) app.say(words);
    });
    for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
        matchMedia(query).addEventListener('change', newColours);
    }
    new ResizeObserver(() => app.redraw()).observe(find('stage'));
    for (const begin of app.starts) begin(model);
    document.body.dataset.ready = 'true';
}

begun().catch((error) => {
    note(`This page could not be read: ${error.message}`);
    throw error;
});
