/*
 * The pointer: what it is near to, choosing, dragging, zooming; the minimap and the lanes' names.
 */

/** The event nearest to a point of the picture, -1 if none is near. */
function eventAt(/** @type {number} */ x, /** @type {number} */ y) {
    look();
    let best = -1, least = 14;
    for (const lane of view.lanes) {
        if (abs(laneY(lane) - y) > scene.tall[lane] / 2 + 14) continue;
        const at = view.x0 + x / view.k;
        along(scene.events, lane, at - 14 / view.k, at + 14 / view.k, 0.5 / view.k, (event) => {
            const far = hypot(px(event) - x, py(event) - y);
            if (far < least) { least = far; best = event; }
        });
    }
    return best;
}

/** The words beside the pointer. */
function showTip(/** @type {number} */ event, /** @type {number} */ x, /** @type {number} */ y) {
    const tip = find('tip'), {offsetLeft: left} = find('picture'), {width, height} = size();
    tip.hidden = event < 0;
    if (event < 0) return;
    tip.replaceChildren(el('b', {text: model.name(event)}), ...[model.label(event), ...described(event), deed(event), ...oddOf(event)]
        .filter(Boolean).map((text) => el('span', {text})));
    tip.style.left = `${max(4, min(left + width - tip.offsetWidth - 6, left + x + 14))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight < height ? y + 18 : max(2, y - tip.offsetHeight - 12)}px`;
}

function hearPointer() {
    const picture = find('picture'), map = find('minimap');
    /** @type {Map<number, {x: number, y: number}>} */
    const down = new Map();
    let moved = 0;
    const place = (/** @type {any} */ event) => {
        const box = picture.getBoundingClientRect();
        return {x: event.clientX - box.left, y: event.clientY - box.top};
    };
    const jump = (/** @type {PointerEvent} */ event) => {
        const box = map.getBoundingClientRect(), {k} = app.state;
        if (event.buttons) app.set({x0: held((event.clientX - box.left - 6) / (box.width - 12) * scene.end - size().width / 2 / k, k)});
    };
    dressed(map, {onpointermove: jump, onpointerdown(/** @type {PointerEvent} */ event) {
        map.setPointerCapture(event.pointerId);
        jump(event);
    }});
    dressed(picture, {
        onpointerdown(/** @type {PointerEvent} */ event) {
            down.set(event.pointerId, place(event));
            picture.setPointerCapture(event.pointerId);
            moved = 0;
        },
        onpointermove(/** @type {PointerEvent} */ event) {
            const here = place(event), before = down.get(event.pointerId);
            if (!before) return showTip(eventAt(here.x, here.y), here.x, here.y);
            const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
            moved += hypot(here.x - before.x, here.y - before.y);
            if (other) {
                const far = (/** @type {{x: number}} */ one) => max(20, abs(one.x - other.x));
                zoomAbout(far(here) / far(before), (here.x + other.x) / 2);
            } else if (moved > 4) {
                picture.classList.add('dragged');
                showTip(-1, 0, 0);
                pan((before.x - here.x) / size().width, before.y - here.y);
            }
            if (moved > 4 || other) down.set(event.pointerId, here);
        },
        onpointerup(/** @type {PointerEvent} */ event) {
            const {x, y} = place(event), hit = moved <= 4 ? eventAt(x, y) : -1;
            down.delete(event.pointerId);
            picture.classList.remove('dragged');
            if (hit >= 0) choose(hit, event.shiftKey);
        },
        onpointercancel: (/** @type {PointerEvent} */ event) => down.delete(event.pointerId),
        onpointerleave: () => showTip(-1, 0, 0),
        onwheel(/** @type {WheelEvent} */ event) {
            const across = abs(event.deltaX) > abs(event.deltaY), flows = matchMedia('(max-width: 900px)').matches;
            if (flows && !event.ctrlKey && !across) return;
            event.preventDefault();
            const lines = event.deltaMode ? 30 : 1;
            if (across || event.shiftKey) pan((event.deltaX || event.deltaY) * lines / size().width, 0);
            else zoomAbout(2 ** (-event.deltaY * lines / (event.ctrlKey ? 120 : 360)), place(event).x);
        },
    });
    hearLanes();
}

/** A lane's name is dragged to another place. */
function hearLanes() {
    const box = find('lanes');
    let lane = -1;
    dressed(box, {
        onpointerdown(/** @type {any} */ event) {
            lane = +(event.target.dataset.lane ?? -1);
            box.setPointerCapture(event.pointerId);
        },
        onpointermove(/** @type {PointerEvent} */ event) {
            if (lane < 0 || !event.buttons) return;
            const down = event.clientY - box.getBoundingClientRect().top - RULER + app.state.y0;
            const over = scene.shown.find((other) => abs(down - scene.y[other]) < scene.tall[other] / 2);
            if (over == null || over === lane) return;
            const order = [...model.order].filter((other) => other !== lane);
            order.splice(order.indexOf(over) + (scene.y[over] > scene.y[lane] ? 1 : 0), 0, lane);
            app.set({order: Int32Array.from(order)});
        },
        onpointerup: () => { lane = -1; },
    });
}
