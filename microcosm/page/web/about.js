/*
 * What the panel has besides the pair: what would follow, were it so; what was found; questions and their
 * witnesses; what two replicas could tell each other; what is odd in the log; which lanes are shown.
 */

app.start(() => {
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
    const {whatif, a, b} = app.state, box = find('whatif');
    for (const one of find('panel').querySelectorAll('.suppose')) dressed(one, {'aria-pressed': String(whatif?.sign === one.dataset.sign)});
    if (whatif && (whatif.a !== a || whatif.b !== b)) return app.set({whatif: null});
    box?.replaceChildren();
    if (!whatif || !box) return;
    const {sign} = whatif, told = await answers.whatIf(a, sign, b), wanted = `${model.name(a)} ${sign} ${model.name(b)}`;
    if (app.state.whatif !== whatif) return;
    if (!told) box.append(dim(`What would follow of ${wanted} is not in this page.`), copyButton('command', () => lineFor(`what if ${stated(a, sign, b)}`)));
    else if (!told.possible) box.append(dim(`${wanted} cannot be.`, 'odd'), told.derivation ? proofTree(told.derivation, openLeaf) : refutedBy(a, b));
    else {
        box.append(dim(`${numbered(told.count ?? told.follows.length, 'pair')} decided further, were ${wanted} so.`, ''),
            listOf(informative(told.follows), ([x, y, left]) => pairButton(x, left.join(' or '), y), {class: 'found'}));
        if (app.ask) box.append(el('p', {class: 'actions'}, ...[['Keep', `suppose ${stated(a, sign, b)}`], ['Undo', 'undo']].map(([text, line]) => button(text, () => app.ask?.(line)))));
    }
    app.say(box.textContent);
}

/** Pairs with those first from which most others follow. Of very many pairs they stay as they are. */
function informative(/** @type {[string, string, string[]][]} */ pairs) {
    if (pairs.length > 1000) return pairs;
    const ends = pairs.map(([x, y, left]) => (left[0] === '>' ? [y, x] : [x, y]).map((name) => model.find(name)));
    const worth = pairs.map((pair, at) => pair[2].length > 1 ? 0 : ends.filter(([from, to]) => upto(from, ends[at][0]) && upto(ends[at][1], to)).length);
    return [...pairs.keys()].sort((one, other) => worth[other] - worth[one] || one - other).map((at) => pairs[at]);
}

// -- found ------------------------------------------------------------------------------------------------------

/** Finds what the box asks for: events, or the pairs of a motif. */
async function seek() {
    const asked = app.state.find, text = asked.trim(), alive = () => app.state.find === asked;
    const box = find('matches'), hits = find('hits'), tell = (/** @type {string} */ said, /** @type {Int32Array} */ found, /** @type {any[]} */ ...inside) => {
        hits.textContent = said;
        box.replaceChildren(...inside);
        app.set({found});
        if (text) app.say(said || box.textContent);
    };
    const none = new Int32Array(0), pattern = motif(text);
    if (!text) return tell('', none);
    hits.textContent = '…';
    try {
        if (!pattern) {
            const found = await search(text, alive);
            if (found) tell(`${numbered(found.length)} found`, found, part('Found', found.length ? listOf(Array.from(found.subarray(0, 1000)), eventButton) : dim('No event fits.')));
            return;
        }
        const told = await matches(pattern, alive);
        if (!told) return;
        const {pairs, more, unsaid, through} = told, sign = pattern.sign === '->' ? '→' : pattern.sign;
        tell(`${more ? 'first ' : ''}${numbered(pairs.length)} ${pairs.length === 1 ? 'match' : 'matches'}`, Int32Array.from(new Set(pairs.flat())).sort(inOrderOf),
            part('Matches', pairs.length ? listOf(pairs, ([x, y]) => pairButton(model.name(x), sign, model.name(y)), {class: 'found'}, MATCHES) : dim('No pair fits.'),
                unsaid ? dim(`Of ${numbered(unsaid, 'pair')} this page does not say whether they are unknown or silent.`) : null,
                through ? null : dim('Not all pairs were looked at: narrow it by words.')));
    } catch (error) {
        tell('', none, dim(/** @type {Error} */ (error).message, 'odd'));
    }
}

/** To the event found after the focus in causal order, or before it; round about. */
function nextFound(/** @type {number} */ way) {
    const {found} = app.state, from = standing();
    if (!found.length) return app.say('Nothing is found.');
    const at = from < 0 ? -1 : way > 0 ? found.findIndex((i) => inOrderOf(i, from) > 0) : found.findLastIndex((i) => inOrderOf(i, from) < 0);
    const next = at >= 0 ? at : way > 0 ? 0 : found.length - 1;
    app.set({focus: found[next]});
    find('hits').textContent = `${next + 1} of ${numbered(found.length)}`;
}

// -- questions, replicas, the log -------------------------------------------------------------------------------

function showAbout() {
    const {questions = [], irregularities: odd, lanes, counts: {reported}} = model.head;
    const kinds = [...new Set(odd.map((/** @type {any[]} */ [kind]) => kind))];
    const many = (/** @type {string} */ kind, /** @type {number} */ told) => max(told, reported[kind] ?? 0);
    const all = kinds.reduce((sum, kind) => sum + many(kind, odd.filter((/** @type {any[]} */ one) => one[0] === kind).length), 0);
    find('about').append(
        ...model.head.consistent === false ? [el('p', {role: 'alert', text: 'No world fits all that is given: microcosm check says why.'})] : [],
        ...questions.length ? [fold('Questions', true, ...questions.map(questionOf))] : [],
        ...odd.length ? [fold(`Odd in this log: ${numbered(all)}`, !questions.length && odd.length <= 12, ...kinds.map((kind) => {
            const ones = odd.filter((/** @type {any[]} */ one) => one[0] === kind);
            const total = many(kind, ones.length), first = total > ones.length ? ` (the first ${numbered(ones.length)})` : '';
            return el('section', {}, el('h3', {text: `${kind}: ${numbered(total)}${first}`}), listOf(ones, ([, i, file, line, text]) => {
                const said = `${text}${file ? ` (${file}:${line})` : ''}`;
                return i == null ? said : button(said, () => app.set({a: i, b: -1, focus: i}), {class: 'event'});
            }));
        }))] : [],
        ...lanes.length > 1 ? [fold('Lanes', false, lanesFilter())] : []);
}

/** A question with its verdict; each witness is a click. */
function questionOf(/** @type {any} */ {text, verdict: said, vacuous, counts, witnesses, settle = [], notes = []}) {
    return el('section', {class: 'question'}, el('p', {}, el('span', {class: `chip ${said}`, text: said + (vacuous ? ' (vacuous)' : '')}), ' ', el('code', {text})),
        dim(Object.entries(counts).filter(([, count]) => count).map(([value, count]) => `${count} ${value}`).join(', ')),
        ...notes.map((/** @type {string} */ one) => dim(one)), listOf(witnesses, witnessOf),
        settle.length ? fold('What would settle it', false, listOf(settle, observed)) : null);
}

function witnessOf(/** @type {any} */ {events, intervals = {}, parameters, verdict: said, atoms}) {
    const names = [...Object.values(events), ...Object.values(intervals).flat()].filter((name) => name != null);
    const found = names.map((name) => model.find(name)).filter((i) => i >= 0), [first] = atoms;
    const told = [...Object.entries(events).map(([key, name]) => `${key} = ${name}`),
        ...Object.entries(intervals).map(([key, [from, until]]) => `${key} from ${from} ${until ? `until ${until}` : 'on'}`),
        ...Object.entries(parameters).map((one) => one.join(': '))].join(', ');
    return button(`${said}: ${told}`, () => {
        const [a, b = -1] = first ? [first[0], first[2]].map((name) => model.find(name)) : found;
        app.set({a, b, focus: b < 0 ? a : b, find: ''});
        app.set({found: Int32Array.from(found)});
    }, {class: 'event'});
}

/** What two replicas contradict each other about, and what each could tell the other. */
function showReplicas() {
    const {other} = model.head, box = find('replicas');
    if (!other) return;
    const {names, news, conflicts} = other;
    if (conflicts.length) {
        box.append(el('section', {class: 'conflicts', 'aria-label': 'Conflicts'}, el('h2', {text: `${numbered(conflicts.length, 'conflict')}: these cannot both be true`}),
            listOf(conflicts, ({pair: [x, y], verdicts, derivations = []}) => [pairButton(x, verdicts[0], y, ` in ${names[0]}, ${verdicts[1]} in ${names[1]}`),
                ...derivations.map((/** @type {any} */ proof, /** @type {number} */ who) => proof && fold(`Why ${verdicts[who]} in ${names[who]}`, false, proofTree(proof, openLeaf)))])));
    }
    news.forEach((/** @type {any[]} */ facts, /** @type {number} */ who) => facts.length && box.append(part(`News of ${names[who]} for ${names[1 - who]}`,
        listOf(facts, ({fact: [x, sign, y], decides, instead}) => pairButton(x, sign, y, ` decides ${decides}${instead ? `, instead of ${instead}` : ''}`)))));
    if (!box.firstChild) box.append(dim('Both know the same.'));
}

/** Which lanes are shown. */
function lanesFilter() {
    const all = [...model.order];
    const show = (/** @type {(lane: number) => boolean} */ shown) => app.set({hidden: new Set(all.filter((lane) => !shown(lane)))});
    const ticks = all.map((lane) => el('input', {type: 'checkbox', onchange: () => show((one) => ticks[all.indexOf(one)].checked)}));
    const tick = () => ticks.forEach((one, at) => { one.checked = !app.state.hidden.has(all[at]); });
    app.on(['hidden'], tick);
    tick();
    return el('div', {class: 'lanes'}, el('p', {class: 'actions'}, button('All', () => show(() => true)), button('Only those of A and B', () => {
        const {a, b} = app.state;
        if (a >= 0) show((lane) => lane === model.lane(a) || b >= 0 && lane === model.lane(b));
    })), ...all.map((lane, at) => el('label', {}, ticks[at], ` ${model.lanes[lane].name}`)));
}
