/*
 * The keyboard: one table of keys, what each does and how the help says it. Letters are keys only where nobody
 * writes, and may be turned off.
 */

/** @type {{keys: string[], text: string, run: (event: KeyboardEvent) => void}[]} */
const KEYS_OF_PAGE = [
    {keys: ['ArrowLeft'], text: 'the event before, in its process', run: () => step(-1)},
    {keys: ['ArrowRight'], text: 'the event after, in its process', run: () => step(1)},
    {keys: ['ArrowUp'], text: 'nearest event of the process above', run: () => hop(-1)},
    {keys: ['ArrowDown'], text: 'nearest event of the process below', run: () => hop(1)},
    {keys: ['m'], text: 'along the message, to its other end and back', run: () => follow(false)},
    {keys: ['M'], text: 'along the message, to the next other end', run: () => follow(true)},
    {keys: ['Enter'], text: 'this is A, the first event', run: () => choose(standing(), false)},
    {keys: ['Shift+Enter'], text: 'this is B, the second', run: () => choose(standing(), true)},
    {keys: ['x'], text: 'change A and B', run: () => app.set({a: app.state.b, b: app.state.a})},
    {keys: ['['], text: 'back along the path or the proof', run: () => walk(-1)},
    {keys: [']'], text: 'on along the path or the proof', run: () => walk(1)},
    {keys: ['p'], text: 'the panel', run: () => toggle('panel')},
    {keys: ['w'], text: 'what if', run: () => askWhatIf()},
    {keys: ['c'], text: 'cut the lanes where A ends to know', run: () => toggle('cut')},
    {keys: ['l'], text: 'the list of events', run: () => toggle('list')},
    {keys: ['T'], text: 'the table of all pairs', run: () => toggle('table')},
    {keys: ['/'], text: 'find', run: () => find('find').focus()},
    {keys: ['n'], text: 'next found', run: () => nextFound(1)},
    {keys: ['N'], text: 'found before', run: () => nextFound(-1)},
    {keys: ['+', '='], text: 'closer', run: () => zoom(1.4)},
    {keys: ['-'], text: 'further', run: () => zoom(1 / 1.4)},
    {keys: ['0'], text: 'the whole log', run: () => showWhole()},
    {keys: ['Shift+ArrowLeft'], text: 'pan to the left', run: () => pan(-0.2, 0)},
    {keys: ['Shift+ArrowRight'], text: 'pan to the right', run: () => pan(0.2, 0)},
    {keys: ['Shift+ArrowUp'], text: 'pan up', run: () => pan(0, -60)},
    {keys: ['Shift+ArrowDown'], text: 'pan down', run: () => pan(0, 60)},
    {keys: ['Alt+ArrowUp'], text: 'move the lane up', run: () => moveLane(-1)},
    {keys: ['Alt+ArrowDown'], text: 'move the lane down', run: () => moveLane(1)},
    {keys: ['t'], text: 'axis: steps, lines, time', run: () => app.set({axis: nextOf(axes(), app.state.axis)})},
    {keys: ['d'], text: 'theme: as the system, light, dark', run: () => {
        app.set({theme: nextOf(/** @type {const} */ (['auto', 'light', 'dark']), app.state.theme)});
    }},
    {keys: ['Escape'], text: 'drop B, then A', run: () => app.set(app.state.b >= 0 ? {b: -1} : {a: -1, cut: false})},
    {keys: ['?'], text: 'these keys', run: () => showHelp()},
];

/** The axes that this log has. @returns {('steps'|'lines'|'time')[]} */
function axes() {
    return model.n === 0 ? ['steps'] : /** @type {const} */ (['steps', 'lines', 'time']).filter((axis) =>
        axis === 'steps' || axis === 'lines' && model.line(0) > 0
        || axis === 'time' && Number.isFinite(model.time(0)));
}

/** The one after `now`, round about. @template T @param {readonly T[]} all @param {T} now @returns {T} */
function nextOf(all, now) {
    return all[(all.indexOf(now) + 1) % all.length];
}

function toggle(/** @type {'panel'|'cut'|'list'|'table'} */ name) {
    if (name === 'cut' && app.state.a < 0) return app.say('Choose an event first.');
    app.set({[name]: !app.state[name]});
}

/** The event that the keys stand on; the first in view, before they stand anywhere. */
function standing() {
    const {focus, a} = app.state;
    return focus >= 0 ? focus : a >= 0 ? a : -1;
}

function lookAt(/** @type {number} */ event) {
    if (event >= 0) app.set({focus: event});
}

/** The first event of the uppermost lane that shows one in view. */
function begin() {
    for (const lane of scene.rows.shown) {
        const at = firstAt(scene.at.events, scene.at.x, app.state.x0, scene.at.first[lane], scene.at.first[lane + 1]);
        if (at < scene.at.first[lane + 1]) return lookAt(scene.at.events[at]);
    }
}

function step(/** @type {number} */ way) {
    const event = standing();
    if (event < 0) return begin();
    const lane = model.lane(event), {events, first} = scene.at;
    let at = firstAt(events, scene.at.x, scene.at.x[event], first[lane], first[lane + 1]);
    while (events[at] !== event) at++;
    at += way;
    if (at < first[lane] || at >= first[lane + 1]) app.say(way < 0 ? 'The first event here.' : 'The last event here.');
    else lookAt(events[at]);
}

/** To the event of the next lane that is nearest in x; lanes without events are passed over. */
function hop(/** @type {number} */ way) {
    const event = standing();
    if (event < 0) return begin();
    const {shown} = scene.rows, {events, first, x} = scene.at;
    for (let row = shown.indexOf(model.lane(event)) + way; row >= 0 && row < shown.length; row += way) {
        const lane = shown[row], [low, stop] = [first[lane], first[lane + 1]];
        if (low === stop) continue;
        const at = firstAt(events, x, x[event], low, stop);
        const nearer = at === stop || at > low && x[event] - x[events[at - 1]] < x[events[at]] - x[event] ? at - 1 : at;
        return lookAt(events[nearer]);
    }
    app.say(way < 0 ? 'The uppermost process.' : 'The lowest process.');
}

/** The other ends of the messages of an event. */
function otherEnds(/** @type {number} */ event) {
    const {src, dst} = model.edges;
    return [...Array.from(model.out(event), (edge) => dst[edge]), ...Array.from(model.in(event), (edge) => src[edge])];
}

let cameFrom = -1;

/** Along a message; with `next`, of several other ends of the event one came from, to the next one. */
function follow(/** @type {boolean} */ next) {
    const event = standing();
    if (event < 0) return begin();
    if (next && cameFrom >= 0 && otherEnds(cameFrom).includes(event)) return lookAt(nextOf(otherEnds(cameFrom), event));
    const ends = otherEnds(event);
    if (!ends.length) {
        return app.say(model.kind[event] & 12 ? 'Its other end is not in the log.' : 'No message here.');
    }
    const to = ends.includes(cameFrom) && ends.length === 1 ? cameFrom : ends[0];
    cameFrom = event;
    lookAt(to);
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
    if (suppose) app.set({panel: true});
    if (suppose) suppose.focus(); else app.say('Choose two events of which it is not known how they stand.');
}

function zoom(/** @type {number} */ by) {
    const {focus} = app.state, {width} = size();
    const x = focus >= 0 ? (scene.at.x[focus] - app.state.x0) * app.state.k : -1;
    zoomAbout(by, x >= 0 && x <= width ? x : width / 2);
}

/** Moves the lane of the focus up or down among those shown. */
function moveLane(/** @type {number} */ way) {
    const event = standing();
    if (event < 0) return begin();
    const lane = model.lane(event), {shown} = scene.rows, at = shown.indexOf(lane), other = shown[at + way];
    if (other === undefined) return;
    const order = Int32Array.from(model.order, (own) => own === lane ? other : own === other ? lane : own);
    app.set({order});
    app.say(`${model.head.lanes[lane].name} is lane ${at + way + 1} of ${shown.length}.`);
}

/** How a key is called in the help. */
function keyName(/** @type {string} */ key) {
    return key.replace('Arrow', '').replace('Escape', 'Esc');
}

/** All keys, the signs, and the switch for letters. */
function showHelp() {
    const help = find('help');
    const letters = el('input', {type: 'checkbox', id: 'letters', checked: app.state.letters,
        onchange: (/** @type {any} */ event) => app.set({letters: event.target.checked})});
    help.replaceChildren(
        el('h2', {id: 'help-title', text: 'Keys'}),
        el('dl', {}, KEYS_OF_PAGE.flatMap(({keys, text}) => [
            el('dt', {}, keys.slice(0, 1).map((key) => el('kbd', {text: keyName(key)}))), el('dd', {text})])),
        el('p', {}, el('label', {}, letters, ' Single letters are keys')),
        el('p', {text: 'Click an event: it is A. Click with Shift: it is B. Drag to pan, wheel to zoom.'}),
        el('button', {type: 'button', text: 'Close', onclick: () => help.close()}));
    help.showModal();
}

app.start(() => {
    const run = new Map(KEYS_OF_PAGE.flatMap((entry) => entry.keys.map((key) => [key, entry.run])));
    document.addEventListener('keydown', (event) => {
        const {key, target} = event, on = /** @type {HTMLElement} */ (target);
        if (event.ctrlKey || event.metaKey || event.defaultPrevented || find('help').open) return;
        const picture = on === find('picture'), letter = key.length === 1;
        if (!picture && (!letter || on.matches('input, textarea, select, [contenteditable]'))) return;
        if (letter && !app.state.letters) return;
        const named = letter ? key : (event.altKey ? 'Alt+' : '') + (event.shiftKey ? 'Shift+' : '') + key;
        const does = run.get(named);
        if (!does) return;
        event.preventDefault();
        does(event);
    });
});
