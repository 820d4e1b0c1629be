/*
 * Enhances the docs, which are complete without it: theme, tabs, copy, search, and forms that send a
 * request with a test key. It stores no key, and loads nothing from another origin.
 */
;(() => {
  const root = document.documentElement
  const stored = (name, value) => {
    try {
      if (value === undefined) return localStorage.getItem(name)
      localStorage.setItem(name, value)
    } catch {
      return null // storage is blocked
    }
  }
  const theme = stored('gatehook-theme')
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
  root.classList.add('scripted')

  const element = (name, members = {}, ...children) => {
    const node = document.createElement(name)
    const { data, ...rest } = members
    for (const [key, value] of Object.entries(rest)) {
      if (key in node) node[key] = value
      else node.setAttribute(key, value)
    }
    Object.assign(node.dataset, data)
    node.append(...children)
    return node
  }

  const enableTheme = () => {
    const button = document.querySelector('[data-do=theme]')
    button.hidden = false
    button.addEventListener('click', () => {
      const isDark =
        (root.dataset.theme ??
          (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : '')) === 'dark'
      root.dataset.theme = isDark ? 'light' : 'dark'
      stored('gatehook-theme', root.dataset.theme)
    })
  }

  const enableMenu = () => {
    const link = document.querySelector('[data-do=menu]')
    const contents = document.querySelector('.toc')
    const button = element('button', {
      type: 'button',
      className: link.className,
      textContent: link.textContent,
      'aria-expanded': 'false',
      'aria-controls': 'contents',
    })
    button.addEventListener('click', () => {
      const isOpen = contents.classList.toggle('open')
      button.setAttribute('aria-expanded', String(isOpen))
    })
    link.replaceWith(button)
  }

  /* Tabs: the same language on every example. */
  const groups = []
  const select = (label) => {
    for (const { tabs, panels } of groups) {
      const at = Math.max(
        0,
        tabs.findIndex((tab) => tab.textContent === label),
      )
      tabs.forEach((tab, n) => {
        tab.setAttribute('aria-selected', String(n === at))
        tab.tabIndex = n === at ? 0 : -1
        panels[n].hidden = n !== at
      })
    }
  }
  const enableTabs = (box, index) => {
    const folds = [...box.querySelectorAll('details')]
    const panels = folds.map((fold, n) => {
      const panel = element(
        'div',
        { role: 'tabpanel', id: `x${index}-${n}` },
        fold.querySelector('pre'),
      )
      panel.setAttribute('aria-labelledby', `t${index}-${n}`)
      return panel
    })
    const tabs = folds.map((fold, n) => {
      const label = fold.dataset.variant
      const tab = element('button', { type: 'button', role: 'tab', id: `t${index}-${n}` }, label)
      tab.setAttribute('aria-controls', `x${index}-${n}`)
      tab.addEventListener('click', () => {
        const top = tab.getBoundingClientRect().top
        select(label)
        stored('gatehook-language', label)
        scrollBy(0, tab.getBoundingClientRect().top - top) // the tab stays under the pointer
      })
      tab.addEventListener('keydown', ({ key }) => {
        const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0
        if (step === 0) return
        const next = tabs[(n + step + tabs.length) % tabs.length]
        next.click()
        next.focus()
      })
      return tab
    })
    const copy = element('button', { type: 'button', className: 'copy' }, 'Copy')
    copy.append(element('span', { className: 'vh' }, ` ${box.dataset.label}`))
    copy.addEventListener('click', async () => {
      const shown = panels.find((panel) => !panel.hidden)
      await navigator.clipboard.writeText(shown.textContent)
      copy.firstChild.data = 'Copied'
      setTimeout(() => (copy.firstChild.data = 'Copy'), 2000)
    })
    const list = element('div', { className: 'tabs', role: 'tablist' }, ...tabs)
    list.setAttribute('aria-label', box.dataset.label)
    box.replaceChildren(element('div', { className: 'tabrow' }, list, copy), ...panels)
    groups.push({ tabs, panels })
  }

  const RESULTS_MAX = 12
  const enableSearch = () => {
    const box = document.querySelector('.find')
    const input = document.getElementById('find')
    const results = document.getElementById('results')
    let index
    box.hidden = false
    const load = () => (index ??= fetch(input.dataset.index).then((response) => response.json()))
    const rank = ([title, , , words], terms) => {
      const name = title.toLowerCase()
      let score = 0
      for (const term of terms) {
        if (name === term) score += 9
        else if (name.includes(term)) score += 4
        else if (words.includes(term)) score += 1
        else return 0
      }
      return score
    }
    const show = async () => {
      const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean)
      const entries = await load()
      const found = entries
        .map((entry) => ({ entry, score: rank(entry, terms) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, RESULTS_MAX)
      const items = found.map(({ entry: [title, page, href] }) =>
        element('li', {}, element('a', { href }, title, element('small', {}, page))),
      )
      const empty = element('li', {}, element('p', {}, 'No page has these words.'))
      results.replaceChildren(...(items.length > 0 ? items : [empty]))
      results.hidden = terms.length === 0
    }
    const close = () => (results.hidden = true)
    input.addEventListener('focus', load, { once: true })
    input.addEventListener('input', show)
    box.addEventListener('keydown', (event) => {
      const links = [...results.querySelectorAll('a')]
      const at = links.indexOf(document.activeElement)
      if (event.key === 'Escape') {
        close()
        input.focus()
      } else if (event.key === 'ArrowDown') (links[at + 1] ?? input).focus()
      else if (event.key === 'ArrowUp') (links[at - 1] ?? input).focus()
      else if (event.key === 'Enter' && at < 0) links[0]?.click()
      else return
      event.preventDefault()
    })
    box.addEventListener('focusout', ({ relatedTarget }) => {
      if (relatedTarget && !box.contains(relatedTarget)) close()
    })
    results.addEventListener('click', close)
    document.addEventListener('keydown', (event) => {
      if (event.key !== '/' || event.target.matches('input, textarea, select')) return
      event.preventDefault()
      input.focus()
    })
  }

  /* The key is in this variable only: it ends with the page. */
  let testKey = ''
  const fail = (result, words) => {
    result.replaceChildren(element('p', { className: 'err' }, words))
  }
  const send = async (form) => {
    const result = form.querySelector('.result')
    if (/^gk_live_/.test(testKey))
      return fail(result, 'This is a live key. Use a test key, gk_test_….')
    if (!/^gk_test_/.test(testKey)) return fail(result, 'Enter a test key: gk_test_….')
    let path = form.dataset.path
    const query = new URLSearchParams()
    const headers = { 'X-API-Key': testKey }
    for (const { name, value, dataset } of form.querySelectorAll('[data-place]')) {
      if (dataset.place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
      else if (value === '') continue
      else if (dataset.place === 'query') query.append(name, value)
      else headers[name] = value
    }
    const body = form.querySelector('[data-body]')?.value
    if (body) headers['Content-Type'] = 'application/json'
    const address = query.size > 0 ? `${path}?${query}` : path
    const started = performance.now()
    result.replaceChildren(element('p', {}, 'Sending…'))
    try {
      const { method } = form.dataset
      const options = { method, headers, credentials: 'omit', redirect: 'error' }
      const response = await fetch(address, body ? { ...options, body } : options)
      const text = await response.text()
      const ms = Math.round(performance.now() - started)
      const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
      result.replaceChildren(
        element('p', {}, element('strong', {}, String(response.status)), ` in ${ms} ms`),
        element('pre', { tabIndex: 0 }, indented(text) || 'No body.'),
        element(
          'details',
          {},
          element('summary', {}, 'Headers'),
          element('pre', { tabIndex: 0 }, lines),
        ),
      )
    } catch (error) {
      fail(result, `No response: ${error.message}`)
    }
  }
  const indented = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2)
    } catch {
      return text
    }
  }
  /* Writes the examples beside a form with its values; an incomplete body changes nothing. */
  const updateExamples = (form) => {
    const { base, request } = JSON.parse(form.dataset.example)
    let { path } = form.dataset
    const [query, headers] = [[], []]
    for (const { name, value, dataset } of form.querySelectorAll('[data-place]')) {
      if (dataset.place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
      else if (value !== '') (dataset.place === 'query' ? query : headers).push([name, value])
    }
    let body
    try {
      const text = form.querySelector('[data-body]')?.value.trim()
      if (text) body = JSON.parse(text)
    } catch {
      return
    }
    const panels = form.parentElement.querySelectorAll('.examples [role=tabpanel] pre')
    codeExamples(base, { ...request, path, query, headers, body }).forEach(({ text }, n) => {
      if (panels[n]) panels[n].textContent = text
    })
  }
  const enableTrial = (form) => {
    const button = element('button', { type: 'button', className: 'btn try' }, 'Try it')
    button.setAttribute('aria-expanded', 'false')
    button.addEventListener('click', () => {
      form.hidden = !form.hidden
      button.setAttribute('aria-expanded', String(!form.hidden))
      const key = form.querySelector('[data-key]')
      key.value = testKey
      if (!form.hidden) key.focus()
    })
    form.before(button)
    form.addEventListener('input', () => updateExamples(form))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      testKey = form.querySelector('[data-key]').value.trim()
      send(form)
    })
  }

  document.addEventListener('DOMContentLoaded', () => {
    enableTheme()
    enableMenu()
    document.querySelectorAll('.examples').forEach(enableTabs)
    select(stored('gatehook-language') ?? 'curl')
    enableSearch()
    document.querySelectorAll('.trial').forEach(enableTrial)
  })
})()
