"""axe-core over what nbtools draws on a page, and the measures of focus,
motion and width that axe does not take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page, ViewportSize

from tests.browser.tab import THEMES, Themed

OURS = '[class*="nbtools-"]:not(.nbtools-tour-target), [class*="nbt-"]'
"""Everything of ours has such a class, and so has the outermost node of each card, question, panel,
form and dialog.

What the tour points at may be JupyterLab's.
"""
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
CONTRAST = ("color-contrast",)
"""The one rule of axe's that colours decide: what the others look at is the same in all themes."""
SIZE: ViewportSize = {"width": 1200, "height": 900}
TALL = 8000
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""JupyterLab lays out a window some time after its size has changed."""
MEASURE_LOOKS = """() => {
    const check = axe._audit.checks['color-contrast'];
    const { evaluate } = check;
    const behind = (node, known) => {
        if (node && !known.has(node)) {
            const { backgroundColor, backgroundImage, filter, mixBlendMode, opacity } = getComputedStyle(node);
            known.set(node, [backgroundColor, backgroundImage, filter, mixBlendMode, opacity, behind(node.parentElement, known)].join());
        }
        return known.get(node);
    };
    check.evaluate = function (node, ...more) {
        const { readable, backgrounds } = window.measuredLooks;
        const { color, fontSize, fontWeight, textShadow } = getComputedStyle(node);
        const look = [color, fontSize, fontWeight, textShadow, behind(node, backgrounds)].join();
        const result = readable.has(look) || evaluate.call(this, node, ...more);
        if (result === true) {
            readable.add(look);
        }
        return result;
    };
}"""
"""Has axe measure the contrast of texts that look alike once.

Alike are those with the same colour and size on the same backgrounds.
A page of cards has ten texts of each look, and axe takes a fiftieth of a second for each.
"""
RUN = """async ([selector, tags]) => {
    const all = [...document.querySelectorAll(selector)].filter(node => node.checkVisibility());
    const outermost = all.filter(node => !node.parentElement.closest(selector));
    if (!outermost.length) {
        throw new Error(`the page has nothing of ${selector}`);
    }
    // JupyterLab's body has no height and hides what overflows, by which axe takes the whole page for hidden.
    document.body.style.overflow = 'visible';
    window.measuredLooks = { readable: new Set(), backgrounds: new Map() };
    // Without resultTypes, axe describes each node that passes, too.
    const { violations, passes } = await axe.run({ include: outermost }, { runOnly: tags, resultTypes: ['violations'] });
    document.body.style.overflow = '';
    const measured = passes.some(({ id }) => id === 'color-contrast') || matchMedia('(forced-colors: active)').matches;
    if (!measured && !violations.length) {
        throw new Error('axe has measured no contrast: it takes everything for hidden');
    }
    return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, html, failureSummary }) =>
        `${id} (${help}): ${target.join(' ')}\\n    ${html.slice(0, 300)}\\n    ${failureSummary.replaceAll('\\n', ' ')}`));
}"""


async def violations(page: Page, selector: str = OURS, rules: Sequence[str] = RULES) -> list[str]:
    """Returns a string for each violation that axe finds in the outermost visible nodes of a selector:
    rule, node, reason.
    """
    if not await page.evaluate("typeof axe === 'object'"):
        await page.evaluate(AXE_SCRIPT)
        await page.evaluate(MEASURE_LOOKS)
    size = page.viewport_size or SIZE
    await page.set_viewport_size({**size, "height": TALL})  # axe measures the contrast of what is in view
    await page.evaluate(DRAWN)
    found: list[str] = await page.evaluate(RUN, [selector, rules])
    await page.set_viewport_size(size)
    return found


async def is_accessible(page: Page, selector: str = OURS, rules: Sequence[str] = RULES) -> None:
    """Fails with every violation that axe finds."""
    found = await violations(page, selector, rules)
    assert not found, f"{len(found)} violations of accessibility rules:\n" + "\n".join(found)


UNSEEN_FOCUS = """async selector => {
    const controls = [...document.querySelectorAll(selector)]
        .flatMap(node => [node, ...node.querySelectorAll('*')])
        .filter(node => node.tabIndex >= 0 && node.checkVisibility() && !node.closest('.cm-editor'));
    const unseen = [];
    for (const node of new Set(controls)) {
        node.focus({ preventScroll: true, focusVisible: true });
        if (document.activeElement !== node) {
            continue;
        }
        const active = document.getElementById(node.getAttribute('aria-activedescendant'));
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(active ?? node);
        if ((outlineStyle === 'none' || parseFloat(outlineWidth) < 1) && boxShadow === 'none') {
            unseen.push(node.outerHTML.slice(0, 200));
        }
    }
    return unseen;
}"""


async def without_visible_focus(page: Page, selector: str = OURS) -> list[str]:
    """Every control of ours that the keyboard reaches, and that shows no outline when it has the focus."""
    found: list[str] = await page.evaluate(UNSEEN_FOCUS, selector)
    return found


MOVES = """selector => {
    const delays = node => getComputedStyle(node).transitionDuration.split(',').some(time => parseFloat(time) > 0);
    const ours = [...document.querySelectorAll(selector)].flatMap(node => [node, ...node.querySelectorAll('*')]);
    const animated = document.getAnimations().map(one => one.effect.target).filter(node => node?.closest(selector));
    return [...animated, ...ours.filter(node => delays(node) || getComputedStyle(node).scrollBehavior === 'smooth')]
        .map(node => node.outerHTML.slice(0, 200));
}"""


async def moving(page: Page, selector: str = OURS) -> list[str]:
    """Nodes of ours that an animation moves, or that would move or scroll smoothly."""
    found: list[str] = await page.evaluate(MOVES, selector)
    return found


CUT = """selector => {
    const scrolls = node => node && (node.scrollWidth > node.clientWidth && /auto|scroll/.test(getComputedStyle(node).overflowX)
        || scrolls(node.parentElement?.closest(selector) ? node.parentElement : null));
    const cut = node => getComputedStyle(node).display !== 'inline' && node.scrollWidth > node.clientWidth + 1
        && !(getComputedStyle(node).textOverflow === 'ellipsis' && node.title);
    return [...document.querySelectorAll(selector)].flatMap(node => [node, ...node.querySelectorAll('*')])
        .filter(node => node.matches('button, select, [role=button], [role=tab]') && node.checkVisibility() && !scrolls(node.parentElement))
        .filter(node => cut(node) || node.getBoundingClientRect().right > innerWidth + 1)
        .map(node => node.outerHTML.slice(0, 200));
}"""


async def cut_buttons(page: Page, selector: str = OURS) -> list[str]:
    """Buttons of ours whose label does not fit in, or that stand outside the window.

    Not those in a box that scrolls sideways,
    nor names of files that end in "…" and are whole in their tooltip.
    """
    found: list[str] = await page.evaluate(CUT, selector)
    return found


async def emulate(page: Page, **media: Any) -> None:
    """Asks the page's style sheets as this user's system would:
    ``forced_colors``, ``contrast``, ``reduced_motion``.  None resets all.
    """
    await page.emulate_media(
        **{"forced_colors": "none", "contrast": "no-preference", "reduced_motion": "no-preference", **media}
    )


KEEPS_COLOURS = """selector => [...document.querySelectorAll(selector)].some(
    outer => [outer, ...outer.querySelectorAll('*')].some(node => getComputedStyle(node).forcedColorAdjust === 'none'))"""
"""Whether something has colours of its own where a person has set colours for everything."""


async def in_all_themes(visible: Themed, selector: str = OURS) -> None:
    """Checks all of axe's rules in the light theme, which it leaves, and in each mode what depends on it.

    These are contrast and focus in all themes, focus and own colours in forced colours,
    and what moves where a person wants less motion.
    """
    for theme in THEMES:
        await visible.theme(theme)
        await is_accessible(visible.page, selector, RULES if theme == "light" else CONTRAST)
        assert await without_visible_focus(visible.page, selector) == []
    await visible.theme("light")
    await emulate(visible.page, forced_colors="active")
    if await visible.page.evaluate(KEEPS_COLOURS, selector):
        await is_accessible(visible.page, selector, CONTRAST)
    assert await without_visible_focus(visible.page, selector) == []
    await emulate(visible.page, reduced_motion="reduce")
    assert await moving(visible.page, selector) == []
    await emulate(visible.page)
