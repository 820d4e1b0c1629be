/** The portal: session, head with the name and the logo of the service, page. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiFailure, isSessionOver } from '../api.ts'
import { logoUrl, serviceName } from '../branding.ts'
import { Outlet } from '../outlet.tsx'
import { Button } from '../parts/button.tsx'
import { Empty, Failed } from '../parts/notices.tsx'
import { say, Toast } from '../parts/toast.tsx'
import { place } from '../router.ts'
import { switchTheme } from '../theme.ts'
import { Entrance } from './entrance.tsx'
import { pages } from './pages.ts'
import { loadSession, openSession, session, signOut } from './session.ts'

export function App({ token }: { readonly token: string | undefined }) {
  const failure = useSignal<ApiFailure | undefined>(undefined)
  const start = (link: string | undefined) => {
    failure.value = undefined
    const opening = link === undefined ? loadSession() : openSession({ token: link })
    opening.catch((error: unknown) => {
      if (!(error instanceof ApiFailure)) throw error
      failure.value = error
      session.value = null
    })
  }
  // Once.
  useEffect(() => start(token), [])
  const current = session.value
  if (current === undefined) return null
  const error = failure.value
  if (!current && error && error.status !== 401) {
    return (
      <main id="main" class="page">
        <h1 class="vh">{serviceName}</h1>
        <Failed failure={error} onRetry={() => start(token)} />
      </main>
    )
  }
  if (!current || isSessionOver.value) {
    return <Entrance linkFailure={token === undefined ? undefined : error} />
  }
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Head />
      <Outlet
        rows={pages}
        fallback={
          <main id="main" class="page">
            <h1 class="vh">No page</h1>
            <Empty title="The portal has no page at this address">
              <a href="/portal">Your integration</a>
            </Empty>
          </main>
        }
      />
      <Toast />
    </>
  )
}

/** Sections of the home page with a link in its head. */
const SECTIONS: readonly string[] = ['#hooks', '#keys']

function Head() {
  const { customer, mode, return_url: returnUrl, sections, signed_in } = session.value!
  const holder = [customer.name, mode, signed_in.name].filter(Boolean).join(', ')
  const { path, hash } = place.value
  const isHome = /^\/portal\/?$/.test(path)
  const links = [
    { label: 'Home', href: '/portal', isCurrent: isHome && !SECTIONS.includes(hash) },
    sections.webhooks !== 'hidden' && {
      label: 'Webhooks',
      href: '/portal#hooks',
      isCurrent: isHome ? hash === '#hooks' : path.startsWith('/portal/webhooks/'),
    },
    sections.keys !== 'hidden' && {
      label: 'Keys',
      href: '/portal#keys',
      isCurrent: isHome && hash === '#keys',
    },
    { label: 'Docs', href: '/docs', isCurrent: false },
  ]
  return (
    <header class="masthead">
      <a class="brand" href="/portal">
        {logoUrl && <img src={logoUrl} alt="" height="28" />}
        <span>
          {serviceName}
          <small>API portal</small>
        </span>
      </a>
      <nav aria-label="Portal">
        <ul>
          {links.map(
            (link) =>
              link && (
                <li key={link.href}>
                  <a href={link.href} aria-current={link.isCurrent ? 'page' : undefined}>
                    {link.label}
                  </a>
                </li>
              ),
          )}
        </ul>
      </nav>
      <div class="right bar">
        <span class="small soft" title={holder}>
          {holder}
        </span>
        {returnUrl && (
          <a class="btn quiet tiny" href={returnUrl} rel="noreferrer">
            Back
          </a>
        )}
        <Button kind="quiet" size="tiny" onClick={() => say(`Theme: ${switchTheme()}`)}>
          Theme
        </Button>
        <Button kind="quiet" size="tiny" onClick={() => signOut()}>
          Sign out
        </Button>
      </div>
    </header>
  )
}
