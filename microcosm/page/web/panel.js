/*
 * The panel: what is known of the event chosen, of the two chosen, and why; what would settle it, and what if.
 */

/** What may be of two events, as it is shown. */
const WAYS = ['<', '||', '>'];

/** So many rows of a list are shown; more are counted. */
const SHOWN = 50;

/** Counts what was chosen, so that an answer that comes late is dropped. */
let turn = 0;

/** The events of the path that is shown, and where on it one is. */
let walked = /** @type {number[]} */ ([]), walkedAt = -1;

// -- what the parts of the panel are made of ---------------------------------------------------------------------

function button(/** @type {any} */ text, /** @type {() => void} */ onclick, /** @type {any} */ attributes = {}) {
    return el('button', {type: 'button', onclick, ...attributes}, text);
}

/** A part of the panel under a heading. */
function part(/** @type {string} */ title, /** @type {any[]} */ ...inside) {
    return el('section', {'aria-label': title}, el('h2', {text: title}), ...inside);
}

/** What a part has inside, folded until it is asked for. */
function fold(/** @type {string} */ title, /** @type {boolean} */ open, /** @type {any[]} */ ...inside) {
    return el('details', {open}, el('summary', {text: title}), ...inside);
}

/** A sentence that stands back, or with a class of its own. */
function dim(/** @type {string} */ text, /** @type {string} */ name = 'dim') {
    return el('p', {class: name, text});
}

/** Things in a row, of which one is what `of` makes; of more than `most` the rest is counted. @returns {any} */
function listOf(/** @type {any[]} */ things, /** @type {(thing: any) => any} */ of, /** @type {any} */ attributes = {}, most = SHOWN) {
    return el('ul', attributes, ...things.slice(0, most).map((thing) => el('li', {}, of(thing))),
        things.length > most ? el('li', {class: 'dim', text: `and ${numbered(things.length - most)} more`}) : null);
}

/** A sign in its colour; words say it to who does not see it. */
function signOf(/** @type {string} */ sign, name = 'mark') {
    const [colour, word] = SIGNS[sign];
    return el('span', {class: `${name} ${colour}`, title: word},
        el('span', {'aria-hidden': true, text: sign.length > 2 ? word : sign}), el('span', {class: 'unseen', text: word}));
}

/** An event that a click looks at. */
function eventButton(/** @type {number} */ i) {
    const made = button(el('b', {text: model.name(i)}), () => app.set({focus: i}), {class: 'event'});
    made.append(' ', el('span', {text: model.label(i)}));
    return made;
}

/** A pair that a click chooses. */
function pairButton(/** @type {string} */ x, /** @type {string} */ sign, /** @type {string} */ y, more = '') {
    const [a, b] = [x, y].map((name) => model.find(name));
    return button(`${x} ${sign} ${y}${more}`, () => app.set({a, b, focus: b}), {class: 'event'});
}

/** A button that copies a text, and says so; where the browser does not let us, it is shown to be copied by hand. */
function copyButton(/** @type {string} */ what, /** @type {() => string} */ text) {
    return button(`Copy ${what}`, async () => {
        try {
            await navigator.clipboard.writeText(text());
            note(`Copied: ${what}`);
        } catch {
            const box = el('textarea', {class: 'copied', 'aria-label': `${what}, to be copied`, readonly: true, onblur: () => box.remove()}, text());
            find('panel').prepend(box);
            box.select();
        }
    });
}

// -- one event --------------------------------------------------------------------------------------------------

/** What an event does, in words. */
function deed(/** @type {number} */ i) {
    return `${['step', 'sends', 'receives'][model.kind[i] & 3]} ${model.message(i)}`.trim();
}

/** What is missing about an event, and odd. @returns {string[]} */
function oddOf(/** @type {number} */ i) {
    const kind = model.kind[i];
    return [...new Set([kind & 4 && 'its reception is not in the log', kind & 8 && 'its sending is not in the log', kind & 32 && 'events are missing before it',
        ...model.head.irregularities.filter((/** @type {any[]} */ one) => one[1] === i).map((/** @type {any[]} */ one) => one[4])].filter(Boolean))];
}

/** What the log says of an event. */
function eventCard(/** @type {string} */ letter, /** @type {number} */ i) {
    const said = JSON.parse(model.text('attributes', i) || '{}'), names = Object.keys(said);
    return el('div', {class: 'card'}, el('details', {open: app.state.b < 0},
        el('summary', {}, el('span', {class: 'letter', text: letter}), el('b', {text: model.name(i)}), ` ${model.label(i)}`),
        dim(`${laneName(i)}, ${deed(i)}`),
        names.length ? el('dl', {}, ...names.flatMap((name) => [el('dt', {text: name}),
            el('dd', {text: typeof said[name] === 'string' ? said[name] : JSON.stringify(said[name])})])) : null,
        model.line(i) ? logLines(model.file(i), model.line(i), 0) : null,
        ...oddOf(i).map((text) => dim(`! ${text}`, 'odd')),
        letter === 'A' ? regionCounts(i) : null),
    button('×', () => app.set({a: letter === 'A' ? app.state.b : app.state.a, b: -1}), {'aria-label': `Drop ${letter}`, class: 'drop'}));
}

/** A line of a file with those `around` it, as far as the page has them. */
function logLines(/** @type {string} */ file, /** @type {number} */ line, /** @type {number} */ around) {
    const [, texts] = model.columns.log?.find((/** @type {any[]} */ [name]) => name === file) ?? [file, []];
    const from = max(0, line - 1 - around);
    return el('figure', {class: around ? 'source log' : 'source'}, el('figcaption', {text: `${file}:${line}`}),
        ...texts.slice(from, line + around).map((/** @type {string} */ text, /** @type {number} */ at) =>
            el('code', {class: around && from + at + 1 === line ? 'here' : '', 'data-line': from + at + 1, text})));
}

/** How many events stand how to A; each is a click that finds them. */
function regionCounts(/** @type {number} */ a) {
    const {counts, sign} = regions(a), all = /** @type {Record<string, number>} */ (counts);
    return listOf(Object.keys(SIGNS).filter((one) => all[one]), (one) => [button(signOf(one), () => {
        app.set({find: ''});
        app.set({found: causal().filter((i) => i !== a && sign(i) === one)});
        app.say(`${all[one]} events ${SIGNS[one][2]} ${model.name(a)}`);
    }, {class: 'count'}), ` ${numbered(all[one])} ${SIGNS[one][1]}`], {class: 'regions', 'aria-label': `Beside ${model.name(a)}`});
}

// -- two events -------------------------------------------------------------------------------------------------

/** Shows A and B, and what is known of the two. */
async function showChosen() {
    const {a, b} = app.state, mine = ++turn, box = find('chosen');
    if (box.querySelector(':focus')) find('picture').focus();
    walked = [];
    walkedAt = -1;
    if (a < 0) return box.replaceChildren(dim('Choose an event: a click, or Enter on it. Then a second one, with Shift.'));
    const pair = el('div', {id: 'pair'});
    box.replaceChildren(eventCard('A', a), ...b < 0 ? [] : [eventCard('B', b)], pair);
    if (b < 0) return;
    const sign = await answers.verdict(a, b) ?? 'unsaid', [, , words, open] = SIGNS[sign];
    if (mine !== turn) return;
    const sentence = `${model.name(a)} is ${words} ${model.name(b)}`;
    app.say(sentence);
    const chips = el('p', {class: 'chips', 'aria-label': 'What may be'}), why = el('div'), more = el('div');
    const actions = el('p', {class: 'actions'}, copyButton('command', () => commandFor('online', a, b)),
        open ? null : copyButton('statement', () => stated(a, sign, b)));
    pair.replaceChildren(el('section', {class: 'verdict', 'aria-label': 'A and B'},
        el('h2', {}, signOf(sign, 'mark badge'), sentence), open ? dim(open) : null, chips, actions), ...open ? [more, why] : [why, more]);
    if (sign === '<' || sign === '>') more.append(pathPart(a, b, sign));
    if (open || sign === '<>') {
        more.append(part('What if', el('p', {class: 'actions'}, ...WAYS.map((one) => button(`A ${one} B`,
            () => app.set({whatif: app.state.whatif?.sign === one ? null : {a, sign: one, b}}), {class: 'suppose', 'data-sign': one}))),
        el('div', {id: 'whatif', 'aria-live': 'polite'})));
        showWhatIf();
    }
    const [found, may] = await Promise.all([answers.proof(a, sign, b), answers.possible(a, b)]);
    if (mine !== turn) return;
    showChips(chips, why, sign, may, actions);
    if (found) {
        why.append(part('Why', proofTree(found, openLeaf)));
        actions.append(copyButton('proof', () => proofJson(a, sign, b, found)));
    } else if (sign !== 'silent' && sign !== 'unsaid') why.append(dim('The proof is not in this page: the command has it.'));
    const seen = open ? await answers.settles(a, b) : null;
    if (open && mine === turn) {
        more.prepend(part('What would settle it', seen?.length ? listOf(seen, observed)
            : dim(seen ? 'No lost message of this log could: only a record from elsewhere.' : 'The session does not say.')));
    }
}

/** What would settle something, and how much of it. */
function observed(/** @type {any} */ {text, decides, open}) {
    return text + (open ? `: decides ${decides} of ${open}` : '');
}

/** What `microcosm verify` takes; of what stands both ways the pair is as it is proved. */
function proofJson(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b, /** @type {any} */ derivation) {
    const {left, right} = derivation.conclusion, pair = sign === '>' ? [model.name(a), model.name(b)] : [left, right];
    return JSON.stringify({schema: 'microcosm/1', pair, verdict: sign, derivation});
}

/** The three chips: what may be, and struck through what may not. */
function showChips(/** @type {any} */ box, /** @type {any} */ why, /** @type {string} */ sign, /** @type {any} */ may, /** @type {any} */ actions) {
    const {a, b} = app.state;
    const left = may?.possible ?? (SIGNS[sign][3] || sign === '<>' ? null : [sign]);
    if (!left) return box.append(dim('What may be is not in this page.'));
    box.append(dim('May be'), ...WAYS.map((one) => {
        const proof = may?.derivations?.[`!${one}`], word = SIGNS[one][1], name = 'chip refuted';
        if (left.includes(one)) return signOf(one, 'chip');
        return proof ? button(one, () => why.replaceChildren(part(`Why not ${word}`, proofTree(proof, openLeaf))), {class: name, 'aria-label': `not ${word}: why`})
            : el('s', {class: name}, el('span', {'aria-hidden': true, text: one}), el('span', {class: 'unseen', text: `not ${word}`}));
    }));
    if (may && WAYS.some((one) => !left.includes(one) && !may.derivations?.[`!${one}`])) actions.append(refutedBy(a, b));
}

/** The command that has what the page has not: why something cannot be, derived or as a certificate of a solver. */
function refutedBy(/** @type {number} */ a, /** @type {number} */ b) {
    return copyButton('refutation', () => commandFor('offline --certificate OUT', a, b));
}

/** Shows the line of the log that a leaf names, below its tree, and looks at its event. */
function openLeaf(/** @type {any} */ leaf) {
    const {left, relation, right} = leaf.conclusion, {file, line} = leaf.source ?? {}, said = sourceWords(leaf);
    const ends = [right, left].map((name) => name == null ? -1 : model.find(name)).filter((i) => i >= 0);
    const i = ends.find((event) => model.line(event) === line) ?? ends[0];
    if (i != null) app.set({focus: i});
    find('opened')?.remove();
    const box = el('div', {id: 'opened'}, file && line ? logLines(file, line, 2) : dim(`${left} ${relation} ${right ?? ''}: ${said}`));
    document.activeElement?.closest('[role=tree]')?.after(box);
    box.scrollIntoView({block: 'nearest'});
    app.say(`${said} ${box.querySelector('.here')?.textContent ?? ''}`);
}

/** The way from one to the other along what is given, folded by lane. */
function pathPart(/** @type {number} */ a, /** @type {number} */ b, /** @type {string} */ sign) {
    const steps = sign === '<' ? path(a, b) : path(b, a);
    if (!steps) return '';
    walked = steps.map(({event}) => event);
    /** @type {number[][]} */
    const runs = [];
    for (const i of walked) {
        const run = runs.at(-1);
        if (run && model.lane(run[0]) === model.lane(i)) run.push(i); else runs.push([i]);
    }
    return part('Path', el('p', {class: 'dim'}, `${numbered(walked.length - 1, 'step')}; `, el('kbd', {text: '['}), ' ', el('kbd', {text: ']'}), ' walk along it'),
        listOf(runs, (run) => [el('b', {text: laneName(run[0])}), ' ', eventButton(run[0]),
            ...run.length > 1 ? [run.length > 2 ? ` ${run.length - 1} steps ` : ' ', eventButton(/** @type {number} */ (run.at(-1)))] : []], {class: 'path'}));
}

/** Along the proof, where it has the focus, else along the path: what the keys [ and ] do. */
function walk(/** @type {number} */ by) {
    const tree = document.activeElement?.closest('[role=tree]');
    if (tree) return alongTree(tree, by);
    if (!walked.length) return app.say('No path is shown.');
    walkedAt = max(0, min(walked.length - 1, walkedAt < 0 && by < 0 ? walked.length - 1 : walkedAt + by));
    app.set({focus: walked[walkedAt]});
}
