/*
 * What every part of the page shares: its state, who hears of a change, and how elements are made.
 *
 * The scripts are joined into one function, this one first and main.js last. A part says what it does once the columns are read with `app.start`, and what it does when
 * something of the state changes with `app.on`; only `main.js` runs anything by itself.
 */

/**
 * What the page shows. Events, lanes and edges are numbers of the model, -1 for none.
 * @typedef {object} State
 * @property {number} a the first event chosen
 * @property {number} b the second
 * @property {number} focus the event that the keys stand on
 * @property {'steps'|'lines'|'time'} axis what x is
 * @property {number} x0 x at the left edge of the picture
 * @property {number} k pixels a unit of x; 0 before the first picture
 * @property {number} y0 pixels that the lanes are scrolled by
 * @property {'auto'|'light'|'dark'} theme
 * @property {string} find the words looked for
 * @property {Int32Array} found the events that they find
 * @property {null|{a: number, sign: string, b: number}} whatif
 * @property {boolean} cut
 * @property {boolean} fold whether steps without messages are a count
 * @property {boolean} table
 * @property {boolean} list
 * @property {boolean} panel
 * @property {boolean} letters whether single letters are keys
 * @property {number[]} lit events that a step of the proof lights
 * @property {Set<number>} hidden lanes not shown
 * @property {Int32Array|null} order lanes from above, where somebody moved one
 */

/** What is shown or not, at the press of a button. */
const PARTS = /** @type {const} */ (['panel', 'list', 'table', 'fold']);

const abs = Math.abs, ceil = Math.ceil, floor = Math.floor, hypot = Math.hypot, max = Math.max, min = Math.min, round = Math.round;

const app = {
    /** @type {State} */
    state: {
        a: -1, b: -1, focus: -1, axis: 'steps', x0: 0, k: 0, y0: 0, theme: 'auto', find: '',
        found: new Int32Array(0), whatif: null, cut: false, fold: false, table: false, list: false, panel: true,
        letters: true, lit: [], hidden: new Set(), order: null,
    },

    /** Asks the session a line, where there is one (live.js). @type {null|((line: string) => Promise<any>)} */
    ask: null,

    /**
     * Works out from the file what a session would be asked, where there is none (alone.js).
     * @type {null|{supposed: (a: number, sign: string, b: number) => Promise<Supposed|null>, settles: (a: number, b: number) => any[]}}
     */
    alone: null,

    /** Reads the head and the columns (alone.js, live.js). @type {() => Promise<{head: any, texts: any}>} */
    read: async () => ({head: null, texts: null}),

    /** @type {{names: string[]|null, hear: (state: State, changed: string[]) => void}[]} */
    listeners: [],

    /** @type {(() => void)[]} */
    starts: [],

    /** Has `begin` called once the columns are read, in the order of the scripts. */
    start(/** @type {() => void} */ begin) {
        app.starts.push(begin);
    },

    /** Has `hear(state, names)` called when one of the names changes; of any, without names. */
    on(/** @type {string[]|null} */ names, /** @type {(state: State, changed: string[]) => void} */ hear) {
        app.listeners.push({names, hear});
    },

    /** Changes the state, tells who asked, and has the picture drawn anew with the next frame. */
    set(/** @type {Partial<State>} */ change) {
        const state = /** @type {any} */ (app.state), wanted = /** @type {any} */ (change);
        const changed = Object.keys(wanted).filter((name) => state[name] !== wanted[name]);
        if (!changed.length) return;
        Object.assign(state, change);
        for (const {names, hear} of app.listeners) {
            if (!names || names.some((name) => changed.includes(name))) hear(app.state, changed);
        }
        app.redraw();
    },

    /** Draws once before the next frame, however often it is called; main.js says how. */
    redraw() {},

    /** Says a sentence to who listens instead of looking. */
    say(/** @type {string} */ text) {
        const box = find('live');
        box.textContent = text + (box.textContent === text ? '\u00a0' : '');
    },
};

/** The element of the page with this id. @returns {any} */
function find(/** @type {string} */ id) {
    return document.getElementById(id);
}

/**
 * Makes an element with attributes, as `dressed` gives them. Children are elements or text; text never becomes markup.
 * @returns {any}
 */
function el(/** @type {string} */ tag, /** @type {Record<string, any>} */ attributes = {}, /** @type {any[]} */ ...children) {
    const made = dressed(document.createElement(tag), attributes);
    made.append(...children.flat().flatMap((child) => marked(child) ?? []));
    return made;
}

/** A text without what XML cannot hold, and what turns round all that stands behind it; anything else as it is. @returns {any} */
function marked(/** @type {any} */ text) {
    return text?.replace?.(/(?![\t\n\r])[\p{Cc}\p{Cs}\p{Cn}\p{Bidi_C}]/gu, '\ufffd') ?? text;
}

/**
 * Gives an element attributes, and hands it back: `text` is what it says, `on…` hears an event, true and false set or
 * leave an attribute out.
 * @returns {any}
 */
function dressed(/** @type {any} */ element, /** @type {Record<string, any>} */ attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name === 'text') element.textContent = marked(value);
        else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (value !== false && value != null) element.setAttribute(name, value === true ? '' : value);
    }
    return element;
}

/** A number as it is read, and what it counts. */
function numbered(/** @type {number} */ count, what = '') {
    return count.toLocaleString('en') + (what && ` ${what}${count === 1 ? '' : what.endsWith('s') ? 'es' : 's'}`);
}

/**
 * Does what a table of keys says of the key of an event, which is done with then; false where it says nothing.
 * Shift and Alt are named where the key is not a letter or sign.
 */
function keyed(/** @type {any} */ event, /** @type {Record<string, () => void>} */ keys) {
    const {key, altKey, shiftKey, ctrlKey, metaKey} = event, letter = key.length === 1;
    const does = keys[letter ? key : (altKey ? 'Alt+' : '') + (shiftKey ? 'Shift+' : '') + key];
    if (!does || ctrlKey || metaKey || letter && altKey) return false;
    event.preventDefault();
    event.stopPropagation();
    does();
    return true;
}

/** Shows a sentence above the picture until it is dismissed, and says it. */
function note(/** @type {string} */ text) {
    const bar = find('note');
    bar.hidden = !text;
    bar.firstElementChild.textContent = text;
    if (text) app.say(text);
}
