/*
 * Where answers come from: out of the file where it holds them, else from the session where there is one. Nothing
 * else of the panel knows which of the two it was.
 */

/** A name as sessions and microcosm files read it. */
function quoted(/** @type {string} */ name) {
    const plain = /^[\w.:@][\w.:@/-]*$/.test(name) && !name.endsWith('-');
    return plain && !/^(name|internal|stamp|clock|from|send|receive|ordering|interior|complete|token|unticked)$/.test(name)
        ? name : JSON.stringify(name);
}

/** An argument of a shell. */
function argument(/** @type {string} */ text) {
    return /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A pair and a sign as a session reads them. */
function stated(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b) {
    return `${quoted(model.name(a))} ${sign} ${quoted(model.name(b))}`;
}

/** What the page was made of, as a shell reads it. */
function filesRead() {
    return model.head.from.map(argument).join(' ') || 'FILE';
}

/** The command that answers what the page does not. */
function commandFor(/** @type {string} */ name, /** @type {number} */ a, /** @type {number} */ b) {
    const names = [a, b].map((i) => model.name(i)), dashed = names.some((one) => one.startsWith('-'));
    return `microcosm ${name} ${dashed ? '-- ' : ''}${filesRead()} ${names.map(argument).join(' ')}`;
}

/** The command that says a line to a session. */
function lineFor(/** @type {string} */ line) {
    return `echo ${argument(line)} | microcosm repl ${filesRead()}`;
}

/**
 * What the file says; what it does not say, the session is asked. Null where neither knows.
 * @template T
 * @param {T|null} here
 * @param {string} line
 * @param {(told: any) => T|null} read
 * @returns {Promise<T|null>}
 */
async function answered(here, line, read) {
    if (here !== null || !app.ask) return here;
    const told = await app.ask(line);
    return told && !told.error ? read(told) : null;
}

/** @typedef {{possible: boolean, follows: [string, string, string[]][], count?: number, derivation?: any}} Supposed */

const answers = {
    /** How two events stand. @returns {Promise<string|null>} */
    verdict(/** @type {number} */ a, /** @type {number} */ b) {
        const said = verdict(a, b);
        return answered(said === 'unsaid' ? null : said, stated(a, '?', b), (told) => told.verdict ?? 'silent');
    },

    /** The proof of a verdict, as `online --json` has it. */
    proof(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b) {
        if (sign === 'silent' || sign === 'unsaid') return null;
        const here = proofOf(a, b);
        return answered(here && (here.derivation ?? here), `why ${stated(a, sign, b)}`, (told) => told.derivation);
    },

    /** What is left of `<`, `>` and `||`, and proofs of what is not. */
    possible(/** @type {number} */ a, /** @type {number} */ b) {
        const here = possibilities(a, b);
        const not = (/** @type {string} */ sign) => here?.includes(sign) ? null : refutation(a, sign, b);
        return answered(here && {possible: here, derivations: {'!<': not('<'), '!||': not('||'), '!>': not('>')}}, `offline ${quoted(model.name(a))} ${quoted(model.name(b))}`,
            (told) => told);
    },

    /** What would settle it, best first: the session tries each. */
    async settles(/** @type {number} */ a, /** @type {number} */ b) {
        const line = `settle ${quoted(model.name(a))} ${quoted(model.name(b))}`;
        return await answered(null, line, (told) => told.questions?.[0].settle) ?? app.alone?.settles(a, b) ?? null;
    },

    /** What would follow, were it so. @returns {Promise<Supposed|null>} */
    async whatIf(/** @type {number} */ a, /** @type {string} */ sign, /** @type {number} */ b) {
        return await answered(null, `what if ${stated(a, sign, b)}`, (told) => told) ?? app.alone?.supposed(a, sign, b) ?? null;
    },
};
