/*
 * The session behind the page, where there is one: `app.ask` says it a line, and what it answers to a click is
 * shown with the line that the click says. Whenever the session knows something else (somebody supposed something,
 * in this tab or in another, or the log has grown) the columns are fetched again; what was chosen stays chosen.
 */

const TOKEN = 'microcosm token';

const live = {token: '', over: false, renewing: /** @type {Promise<any>} */ (Promise.resolve())};

/** Takes the token from the address, where nobody is to see it, into this tab. */
function takeToken() {
    const rest = new URLSearchParams(location.hash.slice(1)), said = rest.get('token');
    live.token = said ?? '';
    try {
        if (said) sessionStorage.setItem(TOKEN, said);  // so that the tab may be loaded again
        else live.token = sessionStorage.getItem(TOKEN) ?? '';
    } catch { /* nothing is kept here */ }
    rest.delete('token');
    if (said) history.replaceState(null, '', `#${rest}`);
}

/** Asks the server; null where there is none any more, which is said once. @returns {Promise<Response|null>} */
async function request(/** @type {string} */ path, /** @type {string|undefined} */ body = undefined) {
    try {
        const found = await fetch(path, {method: body ? 'POST' : 'GET', body, headers: {Authorization: `Bearer ${live.token}`}});
        live.over = false;
        if (found.ok) return found;
        note(await found.text());
    } catch {
        if (!live.over) note('The session has ended. What is shown stays.');
        live.over = true;
    }
    return null;
}

/** The head and the columns, as they are now; null where they are those that are shown. */
async function columnsNow() {
    const found = await request(`columns?since=${model.head?.live ?? ''}`);
    if (!found || found.status === 204) return null;
    const {version, head, columns} = await found.json();
    head.live = version;
    return {head, texts: columns};
}

/** Shows what the session knows now, one fetching after the other: one that has begun may not know it yet. */
function renew() {
    live.renewing = live.renewing.then(columnsNow)
        .then(async (data) => data && shownAnew(data.head, await unpacked(data.head, data.texts)))
        .catch((error) => note(`It could not be shown: ${error.message}`));
    return live.renewing;
}

/** Puts another model in the place of this one: events keep what was chosen by their names, lanes by theirs. */
function shownAnew(/** @type {Head} */ head, /** @type {any} */ found) {
    const state = app.state, {x0, k, y0} = state;
    const names = [state.a, state.b, state.focus].map((i) => i < 0 ? null : model.name(i)), lanes = model.lanes, rows = [...model.order];
    taken(head, found);
    const lane = (/** @type {number} */ number) => head.lanes.findIndex((/** @type {any} */ one) => one.name === lanes[number].name);
    const [a, b, focus] = names.map((name) => name === null ? -1 : model.find(name)), moved = state.order !== null;
    const order = [...moved ? rows.map(lane).filter((one) => one >= 0) : [], ...model.order];
    Object.assign(state, {
        a, b: a < 0 ? -1 : b, focus, lit: [], found: new Int32Array(0), hidden: new Set([...state.hidden].map(lane).filter((one) => one >= 0)),
        order: moved ? Int32Array.from(new Set(order)) : null, whatif: null,
    });
    for (const {names, hear} of app.listeners) {
        if (!names?.includes('axis')) hear(state, ['a', 'b', 'found', 'find', 'order', 'hidden', 'lit']);
    }
    for (const box of ['replicas', 'about']) find(box)?.replaceChildren();
    showReplicas();
    showAbout();
    if (k === whole) showWhole(); else app.set({x0, k, y0});
    app.redraw();
}

/** Hears of each change, until the session has ended; then looks now and then whether it is there again. */
async function hear() {
    for (;;) {
        const stream = (await request('events'))?.body?.pipeThrough(new TextDecoderStream()).getReader();
        for (let rest = ''; stream;) {
            const {value, done} = await stream.read().catch(() => ({value: '', done: true}));
            if (done) break;
            const parts = (rest + value).split('\n\n');
            rest = parts.pop() ?? '';
            for (const part of parts.filter((one) => one.startsWith('data: '))) {
                const told = JSON.parse(part.slice(6));
                if (told.note) note(told.note);
                await live.renewing;  // what is on its way may be older than what is told
                if (told.version !== model.head.live) await renew();
            }
        }
        await new Promise((resolve) => setTimeout(resolve, 1000));
    }
}

/** What a session answered, in a few words. */
function inShort(/** @type {any} */ told) {
    const {schema, line, version, ...rest} = told;
    return rest.error ?? rest.said?.join('\n') ?? JSON.stringify(rest).replace(/(?<=^.{600}).+/, '…');
}

/** Says a line to the session; a line that writes a file is asked about first. @returns {Promise<any>} */
async function askSession(/** @type {string} */ line) {
    if (/^\s*sav?e?!?(\s|$)/i.test(line) && !window.confirm(`Write a file?\n\n${line.trim()}`)) return {line, error: 'not saved'};
    const found = await request('line', JSON.stringify({line}));
    const told = await found?.json();
    if (!told) return;
    find('said').prepend(el('li', {}, el('code', {text: line}), el('pre', {class: told.error ? 'odd' : 'dim', text: inShort(told)})));
    find('said').children[20]?.remove();
    if (told.version != null) await renew();
    return told;
}

takeToken();
app.ask = askSession;
app.read = async () => {
    const data = await columnsNow();
    if (!data) throw new Error('the session does not say what it knows');
    document.title = find('title').textContent = data.head.title;
    return data;
};

app.start(() => {
    const line = find('line');
    find('session').hidden = false;
    find('speak').onsubmit = (/** @type {Event} */ event) => {
        event.preventDefault();
        if (line.value.trim()) askSession(line.value.trim());
        line.select();
    };
    find('speak').onclick = (/** @type {any} */ {target: {dataset: {line: said}}}) => {
        const name = said === 'save' && window.prompt('Write what is given to which file?');
        if (name) askSession(`save ${JSON.stringify(name)}`);
        else if (said && said !== 'save') askSession(said);
    };
    hear();
});
