/*
 * The list: all events in causal order, a window of rows, each with its sign beside A. It is the view for who
 * does not look at the picture, and never waits for it. The table: the verdicts of all pairs of few events.
 */

/** Pixels a row. */
const ROW = 28;

/** Up to so many events have a table. */
const TABLED = 200;

/** All events in causal order: by their steps. Cost: linear, once. @returns {Int32Array} */
function causal() {
    return remembered('causal', -1, () => grouped(model.n, model.n, (i) => model.step[i]).items);
}

/** Which of two events the list has first. */
function inOrderOf(/** @type {number} */ i, /** @type {number} */ j) {
    return model.step[i] - model.step[j] || i - j;
}

/** The list's own state: what it shows, and which of it. */
const listed = {
    /** @type {Int32Array<any>} */ events: new Int32Array(0),
    /** a taller element is beyond what browsers scroll; rows are then mapped onto one of this height */ tallest: 8e6,
    /** the row that the keys stand on */ at: 0,
};

app.start(() => {
    find('which').onchange = fillList;
    find('window').className = model.columns.labels ? '' : 'unlabelled';
    dressed(find('rows'), {onscroll: drawList, onkeydown: listKeys, onclick: listClick});
    new ResizeObserver(drawList).observe(find('rows'));
    fillList();
});
app.on(['list', 'hidden', 'fold'], () => fillList());
app.on(['found'], () => find('which').value === 'found' ? fillList() : drawList());
app.on(['a', 'b', 'focus'], (state, changed) => {
    if (changed.includes('focus') && state.focus >= 0) showRow(listed.events.indexOf(state.focus));
    drawList();
});

/** Chooses which events are rows. */
function fillList() {
    if (!app.state.list) return;
    const {hidden, found} = app.state, among = find('which').value === 'found' ? members(found) : null;
    listed.events = causal().filter((i) => !hidden.has(model.lane(i))
        && (!among || among[i] === 1) && !(app.state.fold && model.plain(i)));
    listed.at = max(0, listed.events.indexOf(app.state.focus));
    dressed(find('rows'), {'aria-rowcount': listed.events.length});
    find('window').style.height = `${min(listed.tallest, listed.events.length * ROW)}px`;
    find('listed').textContent = `${numbered(listed.events.length)} of ${numbered(model.n)}`;
    drawList();
}

/** Pixels of scrolling a row; less than its height where the list is taller than what can be scrolled. */
function pitch() {
    const rows = listed.events.length, {clientHeight} = find('rows');
    return rows * ROW <= listed.tallest ? ROW : (listed.tallest - clientHeight) / (rows - clientHeight / ROW);
}

/** Brings a row into the window. */
function showRow(/** @type {number} */ at) {
    if (at < 0 || !app.state.list) return;
    listed.at = at;
    const box = find('rows'), top = box.scrollTop / pitch(), rows = floor(box.clientHeight / ROW);
    if (at < top) box.scrollTop = at * pitch();
    else if (at > top + rows - 1) box.scrollTop = (at - rows + 1) * pitch() + (pitch() < ROW ? 1 : 0);
}

/** Makes the rows of the window. */
function drawList() {
    if (!app.state.list) return;
    const box = find('rows'), events = listed.events, {a} = app.state, top = box.scrollTop / pitch(), from = floor(top);
    const sign = a < 0 ? null : regions(a).sign, shown = ceil(box.clientHeight / ROW) + 1;
    const found = app.state.found.length ? members(app.state.found) : null;
    const shift = box.scrollTop - (top - from) * ROW;
    find('window').replaceChildren(...Array.from(events.subarray(from, from + shown), (i, at) => listRow(i, from + at, shift + at * ROW, sign, found)));
    dressed(box, {'aria-activedescendant': `row-${listed.at}`});
}

/** One row. */
function listRow(/** @type {number} */ i, /** @type {number} */ at, /** @type {number} */ top, /** @type {any} */ sign, /** @type {Uint8Array|null} */ found) {
    const {a, b} = app.state, kind = model.kind[i], several = model.head.files.length > 2;
    const stands = i === a ? 'A' : i === b ? 'B' : sign ? sign(i) : '';
    const notes = [kind & 32 && 'after a gap', kind & 4 && 'never received here', kind & 8 && 'never sent here', kind & 64 && 'odd', stepsBefore(i)].filter(Boolean);
    const row = el('div', {role: 'row', id: `row-${at}`, 'aria-rowindex': at + 1, 'data-event': i,
        'aria-selected': i === a || i === b, class: `${kind & 32 ? 'gap ' : ''}${found?.[i] ? 'found ' : ''}${at === listed.at ? 'here' : ''}`},
        ...[SIGNS[stands] ? signOf(stands) : el('b', {text: stands}),
            el('b', {text: model.name(i)}),
            model.label(i), laneName(i),
            [deed(i), ...notes].join(', '),
            model.line(i) ? `${several ? `${model.file(i)}:` : 'line '}${model.line(i)}` : ''].map((inside) => el('span', {role: 'gridcell'}, inside)));
    row.style.transform = `translateY(${top}px)`;
    return row;
}

/** How many steps without messages are folded before an event, in words. */
function stepsBefore(/** @type {number} */ i) {
    let before = i;
    while (app.state.fold && before > model.offset[model.chainOf(i)] && model.plain(before - 1)) before--;
    return before < i ? `after ${numbered(i - before, 'step')}` : '';
}

function listKeys(/** @type {any} */ event) {
    const page = max(1, floor(find('rows').clientHeight / ROW) - 1), events = listed.events;
    const go = (/** @type {number} */ by) => () => {
        const at = max(0, min(events.length - 1, listed.at + by));
        showRow(at);
        app.set({focus: events[at]});
        drawList();
    };
    const take = (/** @type {boolean} */ second) => () => {
        app.set({focus: events[listed.at]});
        choose(events[listed.at], second);
    };
    if (events.length) keyed(event, {ArrowDown: go(1), ArrowUp: go(-1), PageDown: go(page), PageUp: go(-page), Home: go(-Infinity), End: go(Infinity),
        Enter: take(false), 'Shift+Enter': take(true)});
}

function listClick(/** @type {any} */ event) {
    const row = event.target.closest('[role=row]');
    if (!row) return;
    listed.at = +row.id.slice(4);
    app.set({focus: +row.dataset.event});
    choose(+row.dataset.event, event.shiftKey);
}

// -- the table --------------------------------------------------------------------------------------------------

app.on(['table'], () => drawTable());
app.on(['a', 'b'], () => {
    find('table').querySelector('.chosen')?.classList.remove('chosen');
    find('table').querySelector(`[data-a="${app.state.a}"][data-b="${app.state.b}"]`)?.classList.add('chosen');
});

/** Makes the table of all pairs, rows and columns by lane; a cell chooses its pair. */
function drawTable() {
    const box = find('table');
    if (!app.state.table || box.querySelector('table')) return;
    if (!model.n || model.n > TABLED) {
        box.replaceChildren(el('p', {class: 'dim', text: `A table is of up to ${TABLED} events; this page has ${numbered(model.n)}.`}));
        return;
    }
    const events = [...causal()].sort((i, j) => model.rows[model.lane(i)] - model.rows[model.lane(j)] || inOrderOf(i, j));
    const made = el('table', {role: 'grid', 'aria-label': 'How each event stands to each other', onkeydown: tableKeys,
        onclick: (/** @type {any} */ event) => chooseCell(event.target.closest('td'))},
        el('thead', {}, el('tr', {}, el('td', {}), ...events.map((i) => el('th', {scope: 'col', title: model.label(i) || null}, el('span', {text: model.name(i)}))))),
        el('tbody', {}, ...events.map((a) => el('tr', {}, el('th', {scope: 'row', title: model.label(a) || null, text: model.name(a)}),
            ...events.map((b) => tableCell(a, b))))));
    made.querySelector('tbody td').tabIndex = 0;
    box.replaceChildren(made);
}

function tableCell(/** @type {number} */ a, /** @type {number} */ b) {
    if (a === b) return el('td', {role: 'gridcell', tabindex: -1, 'aria-label': `${model.name(a)} itself`});
    const sign = verdict(a, b), [colour, , beside] = SIGNS[sign];
    return el('td', {role: 'gridcell', tabindex: -1, 'data-a': a, 'data-b': b, class: `${colour}${a === app.state.a && b === app.state.b ? ' chosen' : ''}`,
        'data-sign': sign, 'aria-label': `${model.name(a)} ${beside} ${model.name(b)}`,
        text: sign === 'silent' ? '·' : sign === 'unsaid' ? '…' : sign});
}

function chooseCell(/** @type {any} */ cell) {
    if (cell?.dataset.a) app.set({a: +cell.dataset.a, b: +cell.dataset.b, focus: +cell.dataset.b});
}

function tableKeys(/** @type {any} */ event) {
    const cell = event.target.closest('td');
    const go = (/** @type {number} */ down, /** @type {number} */ right) => () => {
        const next = cell.closest('tbody').rows[cell.parentElement.rowIndex - 1 + down]?.cells[cell.cellIndex + right];
        if (next?.tagName !== 'TD') return;
        cell.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
    };
    if (cell) keyed(event, {ArrowLeft: go(0, -1), ArrowRight: go(0, 1), ArrowUp: go(-1, 0), ArrowDown: go(1, 0), Enter: () => chooseCell(cell)});
}
