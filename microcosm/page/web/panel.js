/*
 * The panel: what is known of the event chosen, of the two chosen, and why; what would settle it, and what if.
 */

/** What verdicts that decide nothing mean. @type {Record<string, string>} */
const MEANS = {
    '?': 'What is given does not tell how the two stand to each other; they may well be ordered.',
    silent: 'No rule says anything of this pair: it is neither known to be concurrent nor unknown.',
    unsaid: 'Whether they are unknown to each other or silent is not in this page; the command below answers.',
};

/** So many rows of a list are shown; more are counted. */
const SHOWN = 50;

/** Counts what was chosen, so that an answer that comes late is dropped. */
let turn = 0;

/** The events of the path that is shown, and where on it one is. */
let walked = /** @type {number[]} */ ([]), walkedAt = -1;

function button(/** @type {string} */ text, /** @type {() => void} */ onclick, /** @type {any} */ attributes = {}) {
    return el('button', {type: 'button', text, onclick, ...attributes});
}

/** A part of the panel under a heading. */
function part(/** @type {string} */ title, /** @type {any[]} */ ...inside) {
    return el('section', {'aria-label': title}, el('h2', {text: title}), ...inside);
}

/** A sign in its colour; words say it to who does not see it. */
function signOf(/** @type {string} */ sign, /** @type {any} */ attributes = {}) {
    const [colour, word] = SIGNS[sign];
    return el('span', {class: `mark ${colour}`, title: word, ...attributes},
        el('span', {'aria-hidden': true, text: sign.length > 2 ? word : sign}), el('span', {class: 'unseen', text: word}));
}

/** An event that a click looks at, and a click with Shift chooses as the second. */
function eventButton(/** @type {number} */ i, /** @type {(() => void)|null} */ then = null) {
    return el('button', {type: 'button', class: 'event', onclick: then ?? (() => app.set({focus: i}))},
        el('b', {text: model.name(i)}), model.label(i) ? ` ${model.label(i)}` : '');
}

/** Copies a text, and says so; where the browser does not let us, it is shown to be copied by hand. */
async function copy(/** @type {string} */ text, /** @type {string} */ what) {
    try {
        await navigator.clipboard.writeText(text);
        note(`Copied: ${what}`);
    } catch {
        const box = el('textarea', {class: 'copied', 'aria-label': `${what}, to be copied`, readonly: true});
        box.value = text;
        find('panel').prepend(box);
        box.select();
        box.addEventListener('blur', () => box.remove());
    }
}

/** What the log says of an event. */
function eventCard(/** @type {string} */ letter, /** @type {number} */ i) {
    const kind = model.kind[i], message = model.message(i);
    const did = ['step', 'sends', 'receives'][kind & 3] + (message && kind & 3 ? ` ${message}` : '');
    const odd = [kind & 4 && 'its reception is not in the log', kind & 8 && 'its sending is not in the log',
        kind & 32 && 'events are missing before it',
        ...model.head.irregularities.filter((/** @type {any[]} */ one) => one[1] === i).map((/** @type {any[]} */ one) => one[4])];
    return el('div', {class: 'card'}, el('details', {open: app.state.b < 0},
        el('summary', {}, el('span', {class: 'letter', text: letter}), el('b', {text: model.name(i)}), ' ', model.label(i)),
        el('p', {class: 'dim', text: `${laneName(i)}, ${did}`}),
        attributesOf(i),
        sourceLine(i),
        ...[...new Set(odd.filter(Boolean))].map((text) => el('p', {class: 'odd', text: `! ${text}`})),
        letter === 'A' ? regionCounts(i) : null),
    button('×', () => app.set(letter === 'A' ? {a: app.state.b, b: -1} : {b: -1}), {'aria-label': `Drop ${letter}`, class: 'drop'}));
}

/** The attributes of an event, where the page has them. */
function attributesOf(/** @type {number} */ i) {
    const said = JSON.parse(model.text('attributes', i) || '{}'), names = Object.keys(said);
    return names.length ? el('dl', {}, ...names.flatMap((name) => [el('dt', {text: name}), el('dd', {text: shownValue(said[name])})])) : null;
}

function shownValue(/** @type {any} */ value) {
    return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Place and line of an event in its log. */
function sourceLine(/** @type {number} */ i) {
    return model.line(i) ? logLines(model.file(i), model.line(i), 0) : null;
}

/** A line of a file with those `around` it, as far as the page has them. */
function logLines(/** @type {string} */ file, /** @type {number} */ line, /** @type {number} */ around) {
    const [, texts] = model.columns.log?.find((/** @type {any[]} */ [name]) => name === file) ?? [file, []];
    const from = Math.max(0, line - 1 - around), shown = texts.slice(from, line + around);
    return el('figure', {class: around ? 'source log' : 'source'}, el('figcaption', {text: `${file}:${line}`}),
        ...shown.map((/** @type {string} */ text, /** @type {number} */ at) => el('code', {class: around && from + at + 1 === line ? 'here' : '', 'data-line': from + at + 1, text})));
}

/** How many events stand how to A; each is a click that finds them. */
function regionCounts(/** @type {number} */ a) {
    const {counts, sign} = regions(a);
    return el('ul', {class: 'regions', 'aria-label': `Beside ${model.name(a)}`}, ...Object.keys(SIGNS).filter((one) => counts[one]).map((one) =>
        el('li', {}, button('', () => {
            const found = causal().filter((i) => i !== a && sign(i) === one);
            app.set({find: '', found});
            app.say(`${found.length} events ${SIGNS[one][2]} ${model.name(a)}`);
        }, {class: 'count'}).appendChild(signOf(one)).parentElement, ` ${counts[one].toLocaleString('en')} ${SIGNS[one][1]}`)));
}

/** Shows A and B, and what is known of the two. */
async function showChosen() {
    const {a, b} = app.state, mine = ++turn, box = find('chosen');
    walked = [];
    walkedAt = -1;
    if (a < 0) {
        box.replaceChildren(el('p', {class: 'dim', text: 'Choose an event: a click, or Enter on it. Then a second one, with Shift.'}));
        return;
    }
    const pair = el('div', {id: 'pair'});
    box.replaceChildren(eventCard('A', a), ...b < 0 ? [] : [eventCard('B', b)], pair);
    if (b < 0) return;
    const sign = await answers.verdict(a, b) ?? 'unsaid';
    if (mine !== turn) return;
    const sentence = `${model.name(a)} ${IN_WORDS[sign]} ${model.name(b)}`;
    app.say(sentence);
    const left = el('p', {class: 'chips', 'aria-label': 'What may be'}), why = el('div'), more = el('div');
    const actions = el('p', {class: 'actions'},
        button('Copy command', () => copy(commandFor('online', a, b), 'the command')),
        sign in SIGNS && sign.length < 3 && sign !== '?' ? button('Copy statement', () => copy(stated(a, sign, b), 'the statement')) : null);
    pair.replaceChildren(el('section', {class: 'verdict', 'aria-label': 'A and B'},
        el('h2', {}, signOf(sign, {class: `mark badge ${SIGNS[sign][0]}`}), sentence),
        MEANS[sign] ? el('p', {class: 'dim', text: MEANS[sign]}) : null, left, actions), ...MEANS[sign] ? [more, why] : [why, more]);
    if (sign === '<' || sign === '>') more.append(pathPart(a, b, sign));
    if (MEANS[sign] || sign === '<>') {
        more.append(whatIfPart(a, b));
        showWhatIf();
    }
    const [found, may] = await Promise.all([answers.proof(a, sign, b), answers.possible(a, b)]);
    if (mine !== turn) return;
    showChips(left, why, sign, may);
    if (found) {
        why.append(part('Why', proofTree(found, openLeaf)));
        actions.append(button('Copy proof', () => copy(JSON.stringify(proofJson(a, sign, b, found)), 'the proof, for microcosm verify')));
    } else if (sign !== 'silent' && sign !== 'unsaid') why.append(el('p', {class: 'dim', text: 'The proof is not in this page: the command has it.'}));
    if (MEANS[sign]) {
        const observations = await answers.settles(a, b);
        if (mine === turn) more.prepend(settlePart(observations));
    }
}

/** What `microcosm verify` takes; of what stands both ways the pair is as it is proved. */
function proofJson(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b, /** @type {any} */ derivation) {
    const {left, right} = derivation.conclusion;
    return {schema: 'microcosm/1', pair: sign === '>' ? [model.name(a), model.name(b)] : [left, right], verdict: sign, derivation};
}

/** The three chips: what may be, and struck through what may not. */
function showChips(/** @type {any} */ box, /** @type {any} */ why, /** @type {string} */ sign, /** @type {any} */ may) {
    const left = may?.possible ?? (['<', '>', '||'].includes(sign) ? [sign] : null);
    if (!left) {
        box.append(el('span', {class: 'dim', text: 'What may be is not in this page.'}));
        return;
    }
    box.append(el('span', {class: 'dim', text: 'May be '}));
    for (const one of ['<', '||', '>']) {
        const proof = may?.derivations?.[`!${one}`], word = SIGNS[one][1];
        if (left.includes(one)) box.append(signOf(one, {class: `chip ${SIGNS[one][0]}`}), ' ');
        else if (proof) box.append(button(one, () => why.replaceChildren(part(`Why not ${word}`, proofTree(proof, openLeaf))),
            {class: 'chip refuted', 'aria-label': `not ${word}: why`}), ' ');
        else box.append(el('s', {class: 'chip refuted'}, el('span', {'aria-hidden': true, text: one}), el('span', {class: 'unseen', text: `not ${word}`})), ' ');
    }
}

/** Shows the line of the log that a leaf names, below its tree, and looks at its event. */
function openLeaf(/** @type {any} */ leaf) {
    const {left, right} = leaf.conclusion, {file, line} = leaf.source ?? {}, said = sourceWords(leaf);
    const ends = [right, left].map((name) => name == null ? -1 : model.find(name)).filter((i) => i >= 0);
    const i = ends.find((event) => model.line(event) === line) ?? ends[0];
    if (i !== undefined) app.set({focus: i});
    find('opened')?.remove();
    const box = el('div', {id: 'opened'}, file && line ? logLines(file, line, 2) : el('p', {class: 'dim', text: `${left} ${leaf.conclusion.relation} ${right ?? ''}: ${said}`}));
    document.activeElement?.closest('[role=tree]')?.after(box);
    box.scrollIntoView({block: 'nearest'});
    app.say(`${said} ${box.querySelector('.here')?.textContent ?? ''}`);
}

/** The way from one to the other along what is given, folded by lane. */
function pathPart(/** @type {number} */ a, /** @type {number} */ b, /** @type {string} */ sign) {
    const steps = sign === '<' ? path(a, b) : path(b, a), first = sign === '<' ? a : b;
    if (!steps) return '';
    const events = steps.map((/** @type {any} */ step) => step.event);
    walked = events[0] === first ? events : [first, ...events];
    const runs = [];
    for (const i of walked) {
        const run = runs.at(-1);
        if (run && model.lane(run[0]) === model.lane(i)) run.push(i); else runs.push([i]);
    }
    return part('Path', el('p', {class: 'dim'}, `${walked.length - 1} steps; `, el('kbd', {text: '['}), ' ', el('kbd', {text: ']'}), ' walk along it'),
        el('ol', {class: 'path'}, ...runs.slice(0, SHOWN).map((run) => el('li', {}, el('b', {text: laneName(run[0])}), ' ',
            eventButton(run[0]), run.length > 1 ? [` ${run.length > 2 ? `… ${run.length - 1} steps … ` : ''}`, eventButton(run[run.length - 1])] : null))),
        runs.length > SHOWN ? el('p', {text: `and ${runs.length - SHOWN} more lanes`}) : null);
}

/** Along the proof, where it has the focus, else along the path: what the keys [ and ] do. */
function walk(/** @type {number} */ by) {
    const tree = document.activeElement?.closest('[role=tree]');
    if (tree) alongTree(tree, by);
    else if (walked.length) {
        walkedAt = Math.max(0, Math.min(walked.length - 1, walkedAt < 0 ? (by > 0 ? 0 : walked.length - 1) : walkedAt + by));
        app.set({focus: walked[walkedAt]});
    }
}

/** What would settle it. */
function settlePart(/** @type {any[]|null} */ observations) {
    const most = (observations || []).slice(0, SHOWN);
    return part('What would settle it', most.length
        ? el('ul', {}, ...most.map((one) => el('li', {text: one.text + (one.decides ? `: decides ${one.decides} of ${one.open}` : '')})))
        : el('p', {class: 'dim', text: 'No lost message of this log could: only a record from elsewhere.'}));
}

/** The three things that one may suppose of A and B. */
function whatIfPart(/** @type {number} */ a, /** @type {number} */ b) {
    return part('What if', el('p', {class: 'actions'}, ...['<', '||', '>'].map((sign) =>
        button(`A ${sign} B`, () => app.set({whatif: app.state.whatif?.sign === sign ? null : {a, sign, b}}), {class: 'suppose', 'data-sign': sign}))), el('div', {id: 'whatif', 'aria-live': 'polite'}));
}
