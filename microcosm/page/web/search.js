/*
 * Events by what the log says of them, and pairs of them by how they stand.
 *
 * A search is parts that all must fit: words, "words in quotes", /regex/, and `process:`, `kind:`, `line:`,
 * `message:`, `irregular:` with a value. A motif is two searches with a sign between them: `a -> b` for a
 * message, `a < b`, `a ? b`, `a silent b` and so on for a verdict; a side that is empty or * is any event.
 */

/** So many matches of a motif are listed. */
const MATCHES = 1000;

/** Of a motif at most so many pairs are looked at. */
const LOOKED = 2e7;

/** So long a search works before it lets the page breathe, in milliseconds. */
const BREATH = 12;

/** @typedef {(event: number) => boolean} Test */

const MOTIF = /^(.*?)(?:^|\s)(->|<>|<|>|\|\||\?|silent)(?:\s+(.*))?$/;

/** The two searches of a motif and its sign; null where the text is none. */
function motif(/** @type {string} */ text) {
    const parts = MOTIF.exec(text.trim());
    return parts && {left: parts[1].trim(), sign: parts[2], right: (parts[3] || '').trim()};
}

/** What an event must be to fit a text. Throws an Error that says what cannot be read. @returns {Test} */
function fits(/** @type {string} */ text) {
    /** @type {Test[]} */
    const tests = [];
    const part = /(?:(\w+):)?(?:"([^"]*)"|\/((?:\\.|[^/\\])+)\/(i?)(?=\s|$)|(\S*))\s*/gy;
    for (let rest = text.trim(); part.lastIndex < rest.length;) {
        const [whole, key, quoted, regex, flags, plain] = /** @type {RegExpExecArray} */ (part.exec(rest));
        const keyed = key in KEYS, value = quoted ?? plain ?? '';
        if (regex != null) {
            const sought = new RegExp(regex, flags + 'u'), said = keyed ? SAID[key] : words;
            if (!said) throw new Error(`${key}: takes no regular expression`);
            tests.push((i) => sought.test(said(i)));
        } else if (keyed) tests.unshift(KEYS[key](value));
        else if (value !== '*') tests.push(contains(words, quoted ?? whole.trim()));
    }
    return (i) => tests.every((test) => test(i));
}

/** All that the page says of an event in words. */
function words(/** @type {number} */ i) {
    return `${model.name(i)}\n${model.label(i)}\n${model.message(i)}\n${laneName(i)}`;
}

/** The process of an event as its lane is called. */
function laneName(/** @type {number} */ i) {
    return model.lanes[model.lane(i)].name;
}

/** @returns {Test} */
function contains(/** @type {(i: number) => string} */ said, /** @type {string} */ text) {
    const sought = text.toLowerCase();
    return (i) => said(i).toLowerCase().includes(sought);
}

/** What a regular expression behind a key is held against. @type {Record<string, (i: number) => string>} */
const SAID = {process: laneName, message: (i) => model.message(i)};

/** @type {Record<string, (value: string) => Test>} */
const KEYS = {
    process(value) {
        const sought = value.toLowerCase(), names = model.lanes.map((/** @type {any} */ lane) => lane.name.toLowerCase());
        const exact = names.includes(sought);
        const among = names.map((/** @type {string} */ name) => exact ? name === sought : name.includes(sought));
        return (i) => among[model.lane(i)];
    },
    kind(value) {
        const kinds = ['internal', 'send', 'receive'], kind = value ? kinds.findIndex((name) => name.startsWith(value)) : -1;
        if (kind < 0) throw new Error(`kind: is one of ${kinds.join(', ')}`);
        return (i) => (model.kind[i] & 3) === kind;
    },
    line(value) {
        const read = /^(?:(.*):)?(\d+)(?:-(\d+))?$/.exec(value);
        if (!read) throw new Error('line: takes a number, as line:12, line:10-20 or line:FILE:12');
        const [, file, low, high = low] = read;
        return (i) => model.line(i) >= +low && model.line(i) <= +high
            && (!file || model.file(i) === file || model.file(i).endsWith('/' + file));
    },
    message: (value) => contains((i) => model.message(i), value),
    irregular(value) {
        const flags = {'': 0x6c, gap: 0x20, lost: 0x0c}[value];
        if (flags) return (i) => (model.kind[i] & flags) !== 0;
        const named = new Set(model.head.irregularities
            .filter((/** @type {any[]} */ one) => one[0].includes(value) || one[4].includes(value))
            .map((/** @type {any[]} */ one) => one[1]));
        return (i) => named.has(i);
    },
};

/**
 * Does `some` for each number up to `count`, in slices, until it is false or `alive` says no; whether it came
 * to its end. So a search of a million events holds nothing up.
 */
async function slices(/** @type {number} */ count, /** @type {() => boolean} */ alive, /** @type {(at: number) => boolean|void} */ some) {
    for (let at = 0, until = performance.now() + BREATH; at < count; at++) {
        if (some(at) === false) return false;
        if ((at & 63) === 0 && performance.now() > until) {
            await new Promise((go) => setTimeout(go));
            if (!alive()) return false;
            until = performance.now() + BREATH;
        }
    }
    return alive();
}

/** The events that fit, in causal order; null where `alive` said no. @returns {Promise<Int32Array|null>} */
async function search(/** @type {string} */ text, /** @type {() => boolean} */ alive = () => true) {
    const test = fits(text), order = causal();
    /** @type {number[]} */
    const found = [];
    const whole = await slices(order.length, alive, (at) => { if (test(order[at])) found.push(order[at]); });
    return whole ? Int32Array.from(found) : null;
}

/**
 * The first matches of a motif, in causal order, whether there are `more`, and how many pairs looked at are
 * `unsaid`: the page does not say how they stand; `through` unless there were too many pairs to look at. Null where
 * `alive` said no.
 * @returns {Promise<{pairs: [number, number][], more: boolean, unsaid: number, through: boolean}|null>}
 */
async function matches(/** @type {{left: string, sign: string, right: string}} */ {left, sign, right}, /** @type {() => boolean} */ alive = () => true) {
    const ones = await search(left, alive), others = ones && await search(right, alive);
    if (!ones || !others) return null;
    /** @type {[number, number][]} */
    const pairs = [];
    let unsaid = 0;
    const has = members(others), both = members(ones), same = ['||', '<>', '?', 'silent'].includes(sign);
    const whole = await (sign === '->' ? slices(ones.length, alive, (at) => {
        for (const to of receptions(ones[at])) if (has[to]) pairs.push([ones[at], to]);
        return pairs.length <= MATCHES;
    }) : slices(min(LOOKED, ones.length * others.length), alive, (at) => {
        const a = ones[floor(at / others.length)], b = others[at % others.length];
        if (a === b || (same && a > b && both[b] && has[a])) return true;
        const said = verdict(a, b);
        if (said === sign) pairs.push([a, b]);
        else if (said === 'unsaid') unsaid++;
        return pairs.length <= MATCHES;
    }));
    if (!whole && pairs.length <= MATCHES) return null;
    return {pairs: pairs.slice(0, MATCHES), more: pairs.length > MATCHES, unsaid,
        through: sign === '->' || ones.length * others.length <= LOOKED};
}

/** Which events are among some. */
function members(/** @type {Int32Array} */ events) {
    const has = new Uint8Array(model.n);
    for (const i of events) has[i] = 1;
    return has;
}

/** The receptions of what an event sends. */
function receptions(/** @type {number} */ i) {
    /** @type {number[]} */
    const found = [];
    for (const edge of model.out(i)) if (model.why[edge] === 0) found.push(model.dst[edge]);
    return found;
}
