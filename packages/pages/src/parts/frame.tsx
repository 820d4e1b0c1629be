/** The frame of every page: side bar, top bar with the heading, content, drawer. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { offlineSince, pending } from '../api.ts'
import { serviceName } from '../branding.ts'
import { timeOfDay } from '../format.ts'
import { switchTheme } from '../theme.ts'
import { Button } from './button.tsx'
import { openPalette } from './palette.tsx'
import { say } from './toast.tsx'

export interface NavLink {
  readonly href: string
  readonly label: string
  readonly isCurrent: boolean
  /** A short count or state beside the label. */
  readonly tally?: string | undefined
}

export interface NavGroup {
  readonly label: string
  readonly links: readonly NavLink[]
}

interface FrameProps {
  /** The line under the name of the service. */
  readonly subtitle: string
  readonly home: string
  readonly label: string
  readonly groups: readonly NavGroup[]
  /** Above the groups: the scope of the data. */
  readonly scope?: ComponentChildren
  /** Below the groups: the reader, sign out. */
  readonly foot?: ComponentChildren
  readonly isTestMode?: boolean
  readonly children: ComponentChildren
}

export const Logo = () => (
  <svg
    width="20"
    height="20"
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    aria-hidden="true"
  >
    <path d="M4 2v16M16 2v16" />
    <path d="M4 7.5h6.5a2.75 2.75 0 0 1 0 5.5H9" />
  </svg>
)

export function Brand({ subtitle }: { readonly subtitle: string }) {
  return (
    <>
      <Logo />
      <span>
        {serviceName}
        <small>{subtitle}</small>
      </span>
    </>
  )
}

function Group({ label, links }: NavGroup) {
  return (
    <div>
      <p class="up" id={`nav-${label}`}>
        {label}
      </p>
      <ul aria-labelledby={`nav-${label}`}>
        {links.map((link) => (
          <li key={link.href}>
            <a href={link.href} aria-current={link.isCurrent ? 'page' : undefined}>
              {link.label}
              {link.tally && <span class="tally warn">{link.tally}</span>}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

export function Frame(props: FrameProps) {
  const { subtitle, home, label, groups, scope, foot, isTestMode, children } = props
  const isOpen = useSignal(false)
  const current = groups.flatMap(({ links }) => links).find(({ isCurrent }) => isCurrent)?.href
  // The menu closes when the page changes.
  useEffect(() => {
    isOpen.value = false
  }, [current])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class="frame">
        <nav class={isOpen.value ? 'side open' : 'side'} aria-label={label}>
          <div class="brandrow">
            <a class="brand" href={home}>
              <Brand subtitle={subtitle} />
            </a>
            <button
              class="btn tiny menu-button"
              type="button"
              aria-expanded={isOpen.value}
              aria-controls="menu"
              onClick={() => {
                isOpen.value = !isOpen.value
              }}
            >
              Menu
            </button>
          </div>
          <div class="fold" id="menu">
            {scope}
            <div class="groups">
              {groups.map((group) => (
                <Group key={group.label} {...group} />
              ))}
            </div>
          </div>
          {foot && <div class="foot fold">{foot}</div>}
        </nav>
        <div class="main">
          {isTestMode && (
            <aside class="test-line" aria-label="Mode">
              <p>
                Test mode.<i class="c2"> Its data is separate from live data.</i>
              </p>
            </aside>
          )}
          {children}
        </div>
      </div>
    </>
  )
}

export interface Crumb {
  readonly label: string
  readonly href: string
}

interface ScreenProps {
  readonly title: string
  /** For the title of the tab, if `title` alone is not enough. */
  readonly tabTitle?: string
  readonly crumbs?: readonly Crumb[]
  /** A `Drawer`, or undefined. */
  readonly drawer?: ComponentChildren
  readonly children: ComponentChildren
}

const Offline = () =>
  offlineSince.value === undefined ? null : (
    <p class="offline" role="status">
      No response since {timeOfDay(new Date(offlineSince.value).toISOString())} UTC. The page
      repeats its requests.
    </p>
  )

/** Sets the title of the tab, `Requests · Service`, at once with the heading of the page. */
export const useTitle = (title: string): void =>
  useLayoutEffect(() => {
    document.title = `${title} · ${serviceName}`
  }, [title])

/** One page: the top bar with the only `h1`, the content, and the drawer beside it. */
export function Screen({ title, tabTitle, crumbs = [], drawer, children }: ScreenProps) {
  useTitle(tabTitle ?? title)
  return (
    <div class={drawer ? 'with-drawer' : undefined}>
      <header class="top">
        <nav class="crumbs" aria-label="Breadcrumbs">
          <ol>
            {crumbs.map(({ label, href }) => (
              <li key={href}>
                <a href={href}>{label}</a>
              </li>
            ))}
            <li>
              <h1>{title}</h1>
            </li>
          </ol>
        </nav>
        <div class="right">
          <Button kind="quiet" size="tiny" onClick={openPalette}>
            Search<span class="vh"> or jump</span> <kbd>⌘ K</kbd>
          </Button>
          <Button kind="quiet" size="tiny" onClick={() => say(`Theme: ${switchTheme()}`)}>
            Theme
          </Button>
        </div>
        {pending.value > 0 && <span class="progress" aria-hidden="true" />}
      </header>
      <Offline />
      <main id="main" tabIndex={-1} aria-busy={pending.value > 0}>
        {children}
      </main>
      {drawer}
    </div>
  )
}
