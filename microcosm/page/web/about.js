/*
 * What the panel has besides the pair: what would follow, were it so; what was found; questions and their
 * witnesses; what two replicas could tell each other; what is odd in the log; which lanes are shown.
 */

app.start(() => {
    find('panel').append(el('div', {id: 'replicas'}), el('div', {id: 'chosen'}), el('div', {id: 'matches', 'aria-live': 'polite'}),
        el('div', {id: 'about'}));
    showReplicas();
    showAbout();
    showChosen();
    if (app.state.find) seek();
});
app.on(['a', 'b'], () => showChosen());
app.on(['whatif', 'a', 'b'], () => showWhatIf());
app.on(['find'], () => seek());

/** Says what would follow of what is supposed; nothing is changed by asking. */
async function showWhatIf() {
    const {whatif, a, b} = app.state, box = find('whatif'), mine = turn;
    for (const one of find('panel').querySelectorAll('.suppose')) one.setAttribute('aria-pressed', whatif?.sign === one.dataset.sign);
    if (whatif && (whatif.a !== a || whatif.b !== b)) return app.set({whatif: null});
    box?.replaceChildren();
    if (!whatif || !box) return;
    const {sign} = whatif, told = await answers.whatIf(a, sign, b);
    if (mine !== turn || app.state.whatif !== whatif) return;
    const wanted = `${model.name(a)} ${sign} ${model.name(b)}`;
    if (!told) {
        box.replaceChildren(el('p', {class: 'dim', text: `What would follow of ${wanted} is not in this page.`}),
            button('Copy the command', () => copy(`printf '%s\\n' ${argument(`what if ${stated(a, sign, b)}`)} | microcosm repl ${filesRead()}`, 'the command')));
    } else if (!told.possible) {
        box.replaceChildren(el('p', {class: 'odd', text: `${wanted} cannot be.`}),
            ...told.derivation ? [proofTree(told.derivation, openLeaf)] : []);
    } else {
        const pairs = told.follows.map((/** @type {any[]} */ [x, y, left]) => [model.find(x), model.find(y), left]);
        const count = told.count ?? pairs.length;
        box.replaceChildren(el('p', {text: `${count.toLocaleString('en')} ${count === 1 ? 'pair' : 'pairs'} decided further, were ${wanted} so.`}),
            el('ol', {class: 'rows-of-pairs'}, ...informative(pairs).slice(0, SHOWN).map(([x, y, left]) => el('li', {}, pairButton(x, y, left.join(' or '))))),
            ...app.ask ? [el('p', {class: 'actions'}, button('Keep', () => app.ask?.(`suppose ${stated(a, sign, b)}`)), button('Undo', () => app.ask?.('undo')))] : []);
    }
    app.say(box.textContent);
}

/** Pairs with those first that stand for most others: their ends are nearest to what was supposed. */
function informative(/** @type {any[]} */ pairs) {
    if (pairs.length > 2000) return pairs;
    const worth = pairs.map(([x, y, left]) => left.length > 1 || left[0] === '||' ? 0 : pairs.filter(([u, v, also]) => {
        const [low, high] = left[0] === '<' ? [x, y] : [y, x], [from, to] = also[0] === '<' ? [u, v] : [v, u];
        return also.length === 1 && also[0] !== '||' && (from === low || before(from, low)) && (to === high || before(high, to));
    }).length);
    return pairs.map((pair, at) => ({pair, at})).sort((one, other) => worth[other.at] - worth[one.at] || one.at - other.at).map(({pair}) => pair);
}

/** A pair that a click chooses. */
function pairButton(/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ sign, /** @type {string} */ more = '') {
    return button(`${model.name(x)} ${sign} ${model.name(y)}${more}`, () => app.set({a: x, b: y, focus: y}), {class: 'event'});
}

// -- found ------------------------------------------------------------------------------------------------------

/** Finds what the box asks for: events, or the pairs of a motif. */
async function seek() {
    const text = app.state.find.trim(), box = find('matches'), hits = find('hits'), asked = app.state.find;
    const alive = () => app.state.find === asked;
    if (!text) {
        box.replaceChildren();
        hits.textContent = '';
        app.set({found: new Int32Array(0)});
        return;
    }
    hits.textContent = '…';
    try {
        const pattern = motif(text);
        if (!pattern) {
            const found = await search(text, alive);
            if (!found) return;
            hits.textContent = `${found.length.toLocaleString('en')} found`;
            box.replaceChildren(part('Found', found.length ? el('ol', {class: 'found'}, ...Array.from(found.subarray(0, SHOWN), (i) => el('li', {}, eventButton(i))))
                : el('p', {class: 'dim', text: 'No event fits.'}), found.length > SHOWN ? el('p', {class: 'dim', text: `and ${(found.length - SHOWN).toLocaleString('en')} more: n and N go through all, the list shows them`}) : ''));
            app.set({found});
        } else {
            const told = await matches(pattern, alive);
            if (!told) return;
            const {pairs, more, unsaid, through} = told, sign = pattern.sign === '->' ? '→' : pattern.sign;
            hits.textContent = `${more ? 'first ' : ''}${pairs.length.toLocaleString('en')} ${pairs.length === 1 ? 'match' : 'matches'}`;
            box.replaceChildren(part('Matches', pairs.length ? el('ol', {class: 'found'}, ...pairs.map(([x, y]) => el('li', {}, pairButton(x, y, sign))))
                : el('p', {class: 'dim', text: 'No pair fits.'}),
                unsaid ? el('p', {class: 'dim', text: `Of ${unsaid.toLocaleString('en')} pairs this page does not say whether they are unknown or silent.`}) : '',
                through ? '' : el('p', {class: 'dim', text: 'Not all pairs were looked at: narrow it by words.'})));
            app.set({found: Int32Array.from(new Set(pairs.flat())).sort(inOrderOf)});
        }
    } catch (error) {
        hits.textContent = '';
        box.replaceChildren(el('p', {class: 'odd', text: /** @type {Error} */ (error).message}));
        app.set({found: new Int32Array(0)});
    }
    app.say(hits.textContent || box.textContent);
}

/** To the event found after the focus in causal order, or before it; round about. */
function nextFound(/** @type {number} */ way) {
    const {found} = app.state, from = standing();
    if (!found.length) return app.say('Nothing is found.');
    const at = way > 0 ? found.findIndex((i) => inOrderOf(i, from) > 0) : found.findLastIndex((i) => inOrderOf(i, from) < 0);
    const next = at >= 0 && from >= 0 ? at : way > 0 ? 0 : found.length - 1;
    app.set({focus: found[next]});
    find('hits').textContent = `${next + 1} of ${found.length.toLocaleString('en')}`;
}

// -- questions, replicas, the log -------------------------------------------------------------------------------

/** What a part of the panel has inside, folded until it is asked for. */
function fold(/** @type {string} */ title, /** @type {boolean} */ open, /** @type {any[]} */ ...inside) {
    return el('details', {open}, el('summary', {text: title}), ...inside);
}

function showAbout() {
    const {questions, irregularities, lanes} = model.head, kinds = new Map();
    for (const one of irregularities) kinds.set(one[0], [...kinds.get(one[0]) || [], one]);
    find('about').append(
        ...questions?.length ? [fold('Questions', true, ...questions.map(questionOf))] : [],
        ...kinds.size ? [fold(`Odd in this log: ${irregularities.length.toLocaleString('en')}`, !questions?.length, ...[...kinds].map(([kind, ones]) => el('section', {},
            el('h3', {text: `${kind}: ${ones.length}`}), el('ul', {}, ...ones.slice(0, SHOWN).map(oddOf)))))] : [],
        ...lanes.length > 1 ? [fold('Lanes', false, lanesFilter())] : []);
}

function oddOf(/** @type {any[]} */ [, i, file, line, text]) {
    const said = `${text}${file ? ` (${file}:${line})` : ''}`;
    return el('li', {}, i == null ? said : button(said, () => app.set({a: i, b: -1, focus: i}), {class: 'event'}));
}

/** A question with its verdict; each witness is a click. */
function questionOf(/** @type {any} */ {text, verdict: said, vacuous, counts, witnesses, settle, notes}) {
    const counted = Object.entries(counts).filter(([, count]) => count).map(([value, count]) => `${count} ${value}`).join(', ');
    return el('section', {class: 'question'}, el('p', {}, el('span', {class: `chip ${said}`, text: vacuous ? `${said} (vacuous)` : said}), ' ', el('code', {text})),
        counted ? el('p', {class: 'dim', text: counted}) : null, ...(notes ?? []).map((/** @type {string} */ note) => el('p', {class: 'dim', text: note})),
        witnesses.length ? el('ul', {}, ...witnesses.map((/** @type {any} */ one) => el('li', {}, witnessOf(one)))) : null,
        settle?.length ? fold('What would settle it', false, el('ul', {}, ...settle.map((/** @type {any} */ one) => el('li', {text: `${one.text}: decides ${one.decides} of ${one.open}`})))) : null);
}

function witnessOf(/** @type {any} */ {events, intervals = {}, parameters, verdict: said, atoms}) {
    const names = [...Object.values(events), ...Object.values(intervals).flat()].filter((name) => name != null);
    const found = names.map((name) => model.find(name)).filter((i) => i >= 0), [first] = atoms;
    const told = [...Object.entries(events).map(([key, name]) => `${key} = ${name}`),
        ...Object.entries(intervals).map(([key, [from, until]]) => `${key} from ${from} ${until ? `until ${until}` : 'on'}`),
        ...Object.entries(parameters).map(([key, value]) => `${key}: ${value}`)].join(', ');
    return button(`${said}: ${told}`, () => {
        const [a, b] = first ? [first[0], first[2]].map((name) => model.find(name)) : found;
        app.set({a, b: b ?? -1, focus: b ?? a, find: '', found: Int32Array.from(found)});
    }, {class: 'event'});
}

/** What two replicas contradict each other about, and what each could tell the other. */
function showReplicas() {
    const other = model.head.other;
    if (!other) return;
    const names = other.names ?? [1, 2], [mine, theirs] = other.news;
    const news = (/** @type {any[]} */ facts, /** @type {number} */ who) => facts.length ? part(`News of ${names[who]} for ${names[1 - who]}`,
        el('ol', {}, ...facts.slice(0, SHOWN).map(({fact: [x, sign, y], decides, instead}) => el('li', {},
            pairButton(model.find(x), model.find(y), sign, ` decides ${decides}${instead ? `, instead of ${instead}` : ''}`)))),
        facts.length > SHOWN ? el('p', {class: 'dim', text: `and ${facts.length - SHOWN} more`}) : '') : '';
    find('replicas').append(
        ...other.conflicts.length ? [el('section', {class: 'conflicts', 'aria-label': 'Conflicts'}, el('h2', {text: `${other.conflicts.length} ${other.conflicts.length === 1 ? 'conflict' : 'conflicts'}: these cannot both be true`}),
            el('ul', {}, ...other.conflicts.slice(0, SHOWN).map(conflictOf)))] : [],
        news(mine, 0), news(theirs, 1));
    if (!other.conflicts.length && !mine.length && !theirs.length) find('replicas').append(el('p', {text: 'Both know the same.'}));

    function conflictOf(/** @type {any} */ {pair: [x, y], verdicts, derivations = []}) {
        return el('li', {}, pairButton(model.find(x), model.find(y), verdicts[0], ` in ${names[0]}, ${verdicts[1]} in ${names[1]}`),
            ...derivations.map((/** @type {any} */ proof, /** @type {number} */ who) => proof ? fold(`Why ${verdicts[who]} in ${names[who]}`, false, proofTree(proof, openLeaf)) : null));
    }
}

/** Which lanes are shown. */
function lanesFilter() {
    const box = el('div', {class: 'lanes'}), {lanes} = model.head;
    const boxes = Array.from(model.order, (lane) => {
        const tick = el('input', {type: 'checkbox', onchange: () => {
            const hidden = new Set(app.state.hidden);
            if (tick.checked) hidden.delete(lane); else hidden.add(lane);
            app.set({hidden});
        }});
        app.on(['hidden'], (state) => { tick.checked = !state.hidden.has(lane); });
        tick.checked = !app.state.hidden.has(lane);
        return el('label', {}, tick, ` ${lanes[lane].name}`);
    });
    const all = Array.from(model.order);
    box.append(el('p', {class: 'actions'}, button('All', () => app.set({hidden: new Set()})),
        button('Only those of A and B', () => {
            const {a, b} = app.state, kept = [a, b].filter((i) => i >= 0).map((i) => model.lane(i));
            if (kept.length) app.set({hidden: new Set(all.filter((lane) => !kept.includes(lane)))});
        })), ...boxes);
    return box;
}
