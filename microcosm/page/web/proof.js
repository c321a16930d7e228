/*
 * A proof as a tree that keys walk: a step that has the focus lights its events and the way between them, a leaf
 * names its source and opens the line of the log. Chains of `<` are flat, as they are read, and steps of one process
 * fold into one.
 */

/** A chain of more links is shown as it is nested, which is in halves. */
const FLAT = 400;

/** So many steps are open from the beginning. */
const OPENED = 24;

/** Steps of one process that are folded, at least. */
const FOLDED = 3;

/** @typedef {{label: string, note: string, events: number[], leaf: any, parts: () => Step[]}} Step */

/** How a judgement is written, and that there is none. */
const TURNSTILES = /** @type {Record<string, [string, string]>} */ ({initial: ['⊢₀', '⊬₀'], online: ['⊢', '⊬'], offline: ['⊩', '⊮']});

/** A step of a derivation as what is shown of it. @returns {Step} */
function stepOf(/** @type {any} */ node, /** @type {any[]} */ lemmas) {
    const full = resolved(node, lemmas), {rule, premises = [], conclusion: {judgement, left, relation, right}} = full;
    const events = [left, right].filter((name) => name != null).map((name) => model.find(name));
    const absent = rule === 'absent', sign = TURNSTILES[judgement][+absent];
    return {
        label: relation === 'in-both' ? `⊬₀ ${left} _ e, ${right} _ e` : `${sign} ${right == null && !absent ? relation : `${left} ${relation} ${right ?? ''}`}`,
        note: relation === 'in-both' ? 'no event e is related to both' : absent ? 'nothing says so' : premises.length ? rule : sourceWords(full),
        events, leaf: premises.length || absent ? null : full,
        parts: () => {
            const chain = transitive(full, lemmas) ? links(full, lemmas) : [];
            return folded(chain.length && chain.length <= FLAT ? chain : premises.map((/** @type {any} */ one) => resolved(one, lemmas)), lemmas);
        },
    };
}

/** What a leaf rests on: its source in words and its place. */
function sourceWords(/** @type {any} */ {rule, source, clocks, token}) {
    const {file, line, text} = source ?? {}, whole = file && line ? `${file}:${line}` : '';
    const place = whole && (model.head.files.length > 2 || model.head.from.length > 1 ? whole.replace(/^.*\//, '') : `line ${line}`);
    const said = clocks ? Object.values(clocks).map(([process, known]) => `${process} {${Object.entries(known).map((one) => one.join(': ')).join(', ')}}`).join(', ') : token ? `token ${token}` : text;
    return [said === whole ? '' : said, place].filter(Boolean).join(', ') || (rule === 'Init' ? 'given' : rule);
}

function resolved(/** @type {any} */ node, /** @type {any[]} */ lemmas) {
    while (node.ref != null) node = lemmas[node.ref];
    return node;
}

/** Whether a step chains two of its own kind. */
function transitive(/** @type {any} */ node, /** @type {any[]} */ lemmas) {
    if (node.premises?.length !== 2) return false;
    const said = node.conclusion, [one, other] = node.premises.map((/** @type {any} */ part) => resolved(part, lemmas).conclusion);
    return [one, other].every((part) => part.judgement === said.judgement && part.relation === said.relation)
        && one.left === said.left && other.right === said.right && one.right === other.left;
}

/** The links of a chain, in order. Nothing recurses: a chain may be long. */
function links(/** @type {any} */ node, /** @type {any[]} */ lemmas) {
    const waiting = [node], found = [];
    while (waiting.length) {
        const next = resolved(waiting.pop(), lemmas);
        if (transitive(next, lemmas)) waiting.push(next.premises[1], next.premises[0]);
        else found.push(next);
    }
    return found;
}

/** The steps under a step: runs of links of one process as one. @returns {Step[]} */
function folded(/** @type {any[]} */ parts, /** @type {any[]} */ lemmas) {
    const whose = parts.map((part) => /^process |^internal events$/.test(part.source?.text ?? '') ? part.source.text : null);
    /** @type {Step[]} */
    const found = [];
    for (let at = 0; at < parts.length;) {
        let end = at + 1;
        while (whose[at] !== null && end < parts.length && whose[end] === whose[at]) end++;
        const run = parts.slice(at, end).map((part) => stepOf(part, lemmas));
        if (run.length < FOLDED) found.push(...run);
        else {
            const first = parts[at].conclusion.left, last = parts[end - 1].conclusion.right;
            found.push({
                label: `${TURNSTILES[parts[at].conclusion.judgement][0]} ${first} < ${last}`,
                note: `${whose[at].replace(/^process /, '')}: ${run.length} steps`,
                events: [first, last].map((name) => model.find(name)), leaf: null, parts: () => run,
            });
        }
        at = end;
    }
    return found;
}

/** The tree of a derivation, an element; `open(leaf)` shows the line of the log that a leaf names. */
function proofTree(/** @type {any} */ derivation, /** @type {(leaf: any) => void} */ open) {
    const tree = el('ul', {role: 'tree', class: 'proof', 'aria-label': 'Proof', onkeydown: treeKeys, onclick: treeClick, onfocusout: () => app.set({lit: []}),
        onfocusin(/** @type {any} */ {target}) {
            for (const other of tree.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
            target.tabIndex = 0;
            const events = target.step.events.filter((/** @type {number} */ i) => i >= 0), [from, to] = events;
            app.set({lit: events.length > 1 && path(from, to)?.map((step) => step.event) || events});
        }});
    const root = stepOf(derivation, derivation.lemmas ?? []);
    let left = OPENED;
    const item = (/** @type {Step} */ step, /** @type {number} */ level) => {
        const made = el('li', {role: 'treeitem', tabindex: level > 1 ? -1 : 0, 'aria-level': level,
            'aria-label': `${step.label}, ${step.note}`, class: step.leaf ? 'leaf' : ''},
            el('span', {class: 'step'}, el('b', {text: step.label}), ' ', el('i', {text: step.note})));
        const inner = step.leaf ? [] : step.parts();
        made.step = step;
        made.open = step.leaf ? () => open(step.leaf) : null;
        made.fill = () => {
            if (made.lastChild.role !== 'group') made.append(el('ul', {role: 'group'}, ...inner.map((part) => item(part, level + 1))));
        };
        if (inner.length) {
            left -= inner.length;
            unfold(made, left >= 0);
        }
        return made;
    };
    tree.append(item(root, 1));
    return tree;
}

/** Opens or closes a step of a tree. */
function unfold(/** @type {any} */ item, /** @type {boolean} */ open) {
    if (open) item.fill();
    dressed(item, {'aria-expanded': String(open)});
    if (item.lastChild.role === 'group') item.lastChild.hidden = !open;
}

/** Opens what a leaf rests on; opens any other step, or closes it. */
function used(/** @type {any} */ item) {
    const expanded = item.getAttribute('aria-expanded');
    if (item.open) item.open();
    else if (expanded) unfold(item, expanded !== 'true');
}

/** The items of a tree that can be seen, from top to bottom. @returns {any[]} */
function itemsOf(/** @type {any} */ tree) {
    return [...tree.querySelectorAll('[role=treeitem]')].filter((item) => !item.parentElement.closest('[aria-expanded=false]'));
}

/** Moves the focus along the steps of a tree. */
function alongTree(/** @type {any} */ tree, /** @type {number} */ by) {
    const items = itemsOf(tree), at = items.findIndex((item) => item.tabIndex === 0);
    items[max(0, min(items.length - 1, at + by))]?.focus();
}

function treeKeys(/** @type {any} */ event) {
    const item = event.target, tree = event.currentTarget, expanded = item.getAttribute('aria-expanded');
    const up = item.parentElement.closest('[role=treeitem]'), enter = () => used(item);
    keyed(event, {
        ArrowDown: () => alongTree(tree, 1),
        ArrowUp: () => alongTree(tree, -1),
        Home: () => alongTree(tree, -Infinity),
        End: () => alongTree(tree, Infinity),
        ArrowRight: () => expanded === 'false' ? unfold(item, true) : expanded && alongTree(tree, 1),
        ArrowLeft: () => expanded === 'true' ? unfold(item, false) : up?.focus(),
        Enter: enter,
        ' ': enter,
    });
}

function treeClick(/** @type {any} */ event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item) return;
    item.focus();
    used(item);
}
