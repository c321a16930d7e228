// Verdicts: what the file tells of two events, and never more.
//
// `<` and `>` come from vectors over the chains; `||`, `<>` from clocks, tokens and what is given; `?` and silence
// only from the columns `table` and `apart`. What is in none of these is 'unsaid'.

/** @typedef {'<'|'>'|'||'|'<>'|'?'|'silent'|'unsaid'} Verdict */

/** Verdicts as the column `table` has them. @type {Verdict[]} */
const SIGNS = ['silent', '<', '>', '||', '<>', '?'];

/** @type {Record<string, Verdict>} */
const CONVERSE = { '<': '>', '>': '<' };

/** Whether a is before b, by what is given and by clocks. @param {number} a @param {number} b */
function before(a, b) { return app.model.before(a, b); }

/** What is known of two events; `a` stands on the left of the sign. @param {number} a @param {number} b @returns {Verdict} */
function verdict(a, b) { return app.model.verdict(a, b); }

/** @param {number} a */
function cone(a) { return { past: app.model.past(a), future: app.model.future(a) }; }
