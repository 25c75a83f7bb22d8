// Looks at the pages that standard input names, and prints the list of what is not
// as it should be. What is promised of every page stands in look; what can be done
// with a page in walks. Of a page that is for a picture, the picture is taken, and
// what it says is printed too.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const todo = JSON.parse(readFileSync(0, 'utf8'))
const problems = []
const said = {}

const views = [
  { name: 'desktop light', width: 1280, height: 900, colorScheme: 'light' },
  { name: 'desktop dark', width: 1280, height: 900, colorScheme: 'dark' },
  { name: 'phone light', width: 375, height: 700, colorScheme: 'light' },
  { name: 'small phone dark', width: 320, height: 640, colorScheme: 'dark' },
]

const browser = await chromium.launch({
  executablePath: todo.chromium,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
})

// open opens a page in a context of its own, and complains of everything that the
// browser complains of.
async function open (page, view, options = {}) {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height }, colorScheme: view.colorScheme, ...options,
  })
  const tab = await context.newPage()
  tab.setDefaultTimeout(15000)
  const complain = what => problems.push({ Page: page.name, View: view.name, What: what })
  tab.on('console', message => complain(`console: ${message.text()}`))
  tab.on('pageerror', error => complain(`error: ${error}`))
  tab.on('dialog', dialog => { complain(`dialog: ${dialog.message()}`); dialog.dismiss() })
  tab.on('requestfailed', request => complain(`request failed: ${request.url()} ${request.failure()?.errorText}`))
  tab.on('response', response => response.status() >= 400 && complain(`${response.status()} of ${response.url()}`))
  tab.on('request', request => new URL(request.url()).origin === new URL(page.url).origin || complain(`asks elsewhere: ${request.url()}`))
  await tab.goto(page.url)
  return { tab, context, complain, expect: (ok, what) => ok || complain(what) }
}

// look checks what is promised of every page. One tab takes every size and both schemes
// in turn: a new one for each costs seconds.
async function look (page) {
  const view = { ...views[0] }
  const { tab, context, complain, expect } = await open(page, view)
  await tab.evaluate(axe)
  for (const next of views) {
    Object.assign(view, next)
    await tab.setViewportSize({ width: view.width, height: view.height })
    await tab.emulateMedia({ colorScheme: view.colorScheme })
    const text = await tab.locator('body').innerText()
    const shown = text.replace(/\s+/g, ' ')
    for (const says of page.says) expect(shown.includes(says), `does not say ${JSON.stringify(says)}: ${shown.slice(0, 600)}`)
    for (const hides of page.hides ?? []) expect(!text.includes(hides), `says ${JSON.stringify(hides)}`)
    const rows = await tab.locator('table.nodes tbody tr:not(.group)').count()
    expect(page.rows < 0 || rows === page.rows, `shows ${rows} nodes, want ${page.rows}`)
    const found = await tab.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      wide: innerWidth,
      dark: matchMedia('(prefers-color-scheme: dark)').matches,
      x: window.x,
      active: document.querySelectorAll('script, img, svg, iframe, object, embed, [style], [onerror], [onload]').length,
      title: document.title,
      headline: document.querySelector('h1').textContent,
    }))
    expect(found.wide === view.width && found.dark === (view.colorScheme === 'dark'), `has not taken the view: ${JSON.stringify(found)}`)
    expect(found.scroll <= view.width, `scrolls sideways: ${found.scroll} in ${view.width}`)
    expect(found.x === undefined, 'a script of a name ran')
    expect(found.active === 0, `has ${found.active} elements that a name must not make`)
    expect(found.title.includes(found.headline), `the title ${found.title} has not the headline ${found.headline}`)
    if (todo.out) await tab.screenshot({ path: join(todo.out, `${page.name} ${view.name}.png`.replaceAll(' ', '-')), fullPage: page.rows < 100 })
    if (page.rows <= 100 || [views[1].name, views[3].name].includes(view.name)) await judge(tab, complain)
  }
  await context.close()
}

// judge asks axe-core, which is in the tab.
async function judge (tab, complain) {
  const { violations } = await tab.evaluate(() => window.axe.run({
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], resultTypes: ['violations'],
  }))
  for (const v of violations) {
    complain(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => `${n.html.slice(0, 200)} (${n.failureSummary})`).join(' | ')}`)
  }
}

// focused says which element has the focus, and whether one sees that it has.
const focused = tab => tab.evaluate(() => {
  const e = document.activeElement
  const style = getComputedStyle(e)
  return { tag: e.tagName, text: e.textContent.trim().slice(0, 60), seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, inside: e.getBoundingClientRect().left >= 0 }
})

const walks = {
  // use does with a page of a few nodes what a person does.
  async use (page) {
    const view = views[0]
    const { tab, context, expect } = await open(page, view)
    const names = () => tab.locator('table.nodes tbody tr:not(.group) .name').allInnerTexts()
    // By keyboard alone: the skip link, and on to the first node's trail.
    await tab.keyboard.press('Tab')
    let at = await focused(tab)
    expect(at.text === 'Skip to the nodes' && at.inside && at.seen, `the first stop is no visible skip link: ${JSON.stringify(at)}`)
    await tab.keyboard.press('Enter')
    for (let i = 0; i < 20 && at.tag !== 'SUMMARY'; i++) {
      await tab.keyboard.press('Tab')
      at = await focused(tab)
      expect(at.seen, `one does not see the focus on ${JSON.stringify(at)}`)
    }
    const trail = tab.locator('details').first().locator('.trail')
    expect(at.tag === 'SUMMARY' && !await trail.isVisible(), 'the keyboard does not reach a folded trail')
    await tab.keyboard.press('Enter')
    expect(await trail.isVisible(), 'Enter does not unfold the trail')
    // The filter.
    await tab.getByLabel('Text').fill('WORKER-2')
    await tab.keyboard.press('Enter')
    await tab.waitForURL(/q=WORKER-2/)
    expect((await names()).join() === 'frankfurt-worker-2', `searched for worker-2, got ${await names()}`)
    expect(await tab.locator('.trail').first().isVisible(), 'the trail of the only match is folded')
    await tab.getByRole('link', { name: /^not ready/ }).click()
    await tab.waitForURL(/q=WORKER-2&state=notready/)
    expect((await names()).length === 0 && await tab.getByText('No node matches.').isVisible(), 'a state and a text do not narrow each other down')
    await tab.getByRole('link', { name: 'Reset' }).click()
    await tab.waitForURL(page.url)
    expect((await names()).length === page.rows, 'Reset does not show all nodes')
    // The refresh keeps the filter, and what it shows is new.
    await tab.goto(page.url + '?q=worker&state=ready&refresh=2')
    expect(await tab.getByLabel('Refresh').inputValue() === '2', 'the form does not show the pause that was asked for')
    const before = await tab.locator('.asof time').first().getAttribute('datetime')
    await tab.waitForFunction(before => document.querySelector('.asof time')?.getAttribute('datetime') !== before, before)
    expect(tab.url().endsWith('?q=worker&state=ready&refresh=2') && (await names()).length === 4, `after the refresh: ${tab.url()} with ${await names()}`)
    await context.close()
  },

  // many finds a node among a thousand.
  async many (page) {
    const { tab, context, expect } = await open(page, views[3])
    const first = await tab.locator('table.nodes .name').first().innerText()
    expect(first.endsWith('-0700'), `the first node is ${first}, want one that is not ready`)
    await tab.getByLabel('Text').fill('worker-1111')
    await tab.getByRole('button', { name: 'Show' }).click()
    await tab.waitForURL(/q=worker-1111/)
    const names = await tab.locator('table.nodes .name').allInnerTexts()
    expect(names.join() === 'nodepool-frankfurt-worker-1111', `found ${names}`)
    await context.close()
  },
}

// plain uses a page without scripts, as a browser does that allows none.
async function plain (page) {
  const view = { ...views[1], name: 'without JavaScript' }
  const { tab, context, expect } = await open(page, view, { javaScriptEnabled: false })
  await tab.locator('summary').first().click()
  expect(await tab.locator('.trail').first().isVisible(), 'a trail does not unfold')
  await tab.getByLabel('Text').fill('worker-1')
  await tab.getByLabel('Refresh').selectOption('every 60 s')
  await tab.getByRole('button', { name: 'Show' }).click()
  await tab.waitForURL(/q=worker-1&refresh=60/)
  expect(await tab.locator('table.nodes .name').count() === 1, 'the filter does not work')
  await context.close()
}

// take takes a picture for the documentation. Numbers differ each time, what is said
// does not.
async function take (page) {
  const { tab, context } = await open(page, page.picture)
  await tab.screenshot({ path: join(todo.out, page.picture.name + '.png') })
  const texts = await tab.locator('h1, .banner').allInnerTexts()
  said[page.picture.name] = texts.map(text => text.replace(/\d+/g, '#').replace(/\s+/g, ' ').trim())
  await context.close()
}

const jobs = []
for (const page of todo.pages) {
  if (page.picture) { jobs.push(() => take(page)); continue }
  jobs.push(() => look(page))
  if (page.walk) jobs.push(() => walks[page.walk](page))
  if (page.walk === 'use') jobs.push(() => plain(page))
}
// Two at a time, which is as many as the daemon renders.
async function work () {
  for (let job = jobs.shift(); job; job = jobs.shift()) {
    try { await job() } catch (error) { problems.push({ Page: 'script', View: '', What: String(error.stack ?? error) }) }
  }
}
await Promise.all([work(), work()])
await browser.close()
console.log(JSON.stringify({ problems, said }))
