/*
 * The keyboard: one table of keys, what each does and how the help says it. Letters are keys only where nobody
 * writes, and may be turned off.
 */

/** What each key does; the help in page.html says it. @type {Record<string, () => void>} */
const KEYS_OF_PAGE = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    ArrowUp: () => hop(-1),
    ArrowDown: () => hop(1),
    m: () => follow(false),
    M: () => follow(true),
    Enter: () => choose(standing(), false),
    'Shift+Enter': () => choose(standing(), true),
    x: () => app.state.b < 0 ? app.say('Choose two events first.') : app.set({a: app.state.b, b: app.state.a}),
    '[': () => walk(-1),
    ']': () => walk(1),
    p: () => toggle('panel'),
    w: () => askWhatIf(),
    c: () => toggle('cut'),
    f: () => toggle('fold'),
    l: () => toggle('list'),
    T: () => toggle('table'),
    '/': () => find('find').focus(),
    n: () => nextFound(1),
    N: () => nextFound(-1),
    '+': () => zoom(1.4),
    '=': () => zoom(1.4),
    '-': () => zoom(1 / 1.4),
    0: () => showWhole(),
    'Shift+ArrowLeft': () => pan(-0.2, 0),
    'Shift+ArrowRight': () => pan(0.2, 0),
    'Shift+ArrowUp': () => pan(0, -60),
    'Shift+ArrowDown': () => pan(0, 60),
    'Alt+ArrowUp': () => moveLane(-1),
    'Alt+ArrowDown': () => moveLane(1),
    t: () => app.set({axis: nextOf(axes(), app.state.axis)}),
    d: () => app.set({theme: nextOf(/** @type {const} */ (['auto', 'light', 'dark']), app.state.theme)}),
    Escape: () => app.set(app.state.b >= 0 ? {b: -1} : {a: -1, cut: false}),
    '?': () => find('help').showModal(),
};

/** The axes that this log has. @returns {('steps'|'lines'|'time')[]} */
function axes() {
    return model.n === 0 ? ['steps'] : /** @type {const} */ (['steps', 'lines', 'time']).filter((axis) =>
        axis === 'steps' || axis === 'lines' && model.line(0) > 0
        || axis === 'time' && model.time(0) > -Infinity);
}

/** The one after `now`, round about. @template T @param {readonly T[]} all @param {T} now @returns {T} */
function nextOf(all, now) {
    return all[(all.indexOf(now) + 1) % all.length];
}

function toggle(/** @type {'panel'|'cut'|'fold'|'list'|'table'} */ name) {
    if (name === 'cut' && app.state.a < 0) return app.say('Choose an event first.');
    app.set({[name]: !app.state[name]});
}

/** The event that the keys stand on: the focus, else A; -1 before there is one. */
function standing() {
    const {focus, a} = app.state;
    return focus >= 0 ? focus : a;
}

function lookAt(/** @type {number} */ event) {
    if (event >= 0) app.set({focus: event});
}

/** The first event of the uppermost lane that shows one in view. */
function begin() {
    for (const lane of scene.shown) {
        const mine = groupOf(scene.events, lane), at = firstAt(mine, app.state.x0);
        if (at < mine.length) return lookAt(mine[at]);
    }
}

function step(/** @type {number} */ way) {
    const event = standing();
    if (event < 0) return begin();
    const mine = groupOf(scene.events, model.lane(event)), x = scene.x[event];
    let at = firstAt(mine, x);
    while (mine[at] !== event && scene.x[mine[at]] === x) at++;
    at += mine[at] === event ? way : min(way, 0);
    if (mine[at] == null) app.say(way < 0 ? 'The first event here.' : 'The last event here.');
    else lookAt(mine[at]);
}

/** To the event of the next lane that is nearest in x; lanes without events are passed over. */
function hop(/** @type {number} */ way) {
    const event = standing(), x = scene.x[event];
    if (event < 0) return begin();
    for (let row = scene.shown.indexOf(model.lane(event)) + way; scene.shown[row] != null; row += way) {
        const mine = groupOf(scene.events, scene.shown[row]), at = firstAt(mine, x), low = mine[at - 1], high = mine[at];
        if (mine.length) return lookAt(at === mine.length || at && x - scene.x[low] < scene.x[high] - x ? low : high);
    }
    app.say(way < 0 ? 'The uppermost process.' : 'The lowest process.');
}

/** The other ends of the messages of an event. */
function otherEnds(/** @type {number} */ event) {
    return [...model.out(event).map((/** @type {number} */ edge) => model.dst[edge]), ...model.in(event).map((/** @type {number} */ edge) => model.src[edge])];
}

let cameFrom = -1;

/** Along a message; with `next`, of several other ends of the event one came from, to the next one. */
function follow(/** @type {boolean} */ next) {
    const event = standing();
    if (event < 0) return begin();
    if (next && cameFrom >= 0 && otherEnds(cameFrom).includes(event)) return lookAt(nextOf(otherEnds(cameFrom), event));
    const ends = otherEnds(event);
    if (!ends.length) return app.say(model.kind[event] & 12 ? 'Its other end is not in the log.' : 'No message here.');
    cameFrom = event;
    lookAt(ends[0]);
}

/** An event becomes A, or B if it is the second; one event cannot be both. */
function choose(/** @type {number} */ event, /** @type {boolean} */ second) {
    const {a, b} = app.state;
    if (event < 0) return begin();
    if (!second || a < 0) return app.set({a: event, focus: event, b: b === event ? -1 : b});
    if (event === a) return note('A and B are the same event: choose another one.');
    app.set({b: event, focus: event});
}

/** To the first thing that may be supposed of the pair. */
function askWhatIf() {
    const suppose = find('panel').querySelector('.suppose');
    if (!suppose) return app.say('Choose two events of which it is not known how they stand.');
    app.set({panel: true});
    suppose.focus();
}

function zoom(/** @type {number} */ by) {
    const {focus} = app.state, {width} = size();
    const x = focus >= 0 ? (scene.x[focus] - app.state.x0) * app.state.k : -1;
    zoomAbout(by, x >= 0 && x <= width ? x : width / 2);
}

/** Moves the lane of the focus up or down among those shown. */
function moveLane(/** @type {number} */ way) {
    const event = standing();
    if (event < 0) return begin();
    const lane = model.lane(event), at = scene.shown.indexOf(lane), other = scene.shown[at + way];
    if (other == null) return;
    const order = Int32Array.from(model.order, (own) => own === lane ? other : own === other ? lane : own);
    app.set({order});
    app.say(`${model.lanes[lane].name} is lane ${at + way + 1} of ${scene.shown.length}.`);
}

app.start(() => {
    for (const button of find('buttons').querySelectorAll('[data-key]')) button.onclick = KEYS_OF_PAGE[button.dataset.key];
    find('letters').onchange = (/** @type {any} */ event) => app.set({letters: event.target.checked});
    document.onkeydown = (event) => {
        const on = /** @type {HTMLElement} */ (event.target), letter = event.key.length === 1;
        if (event.defaultPrevented || find('help').open || letter && !app.state.letters) return;
        if (on === find('picture') || letter && !on.matches('input, textarea, select, [contenteditable]')) keyed(event, KEYS_OF_PAGE);
    };
});
