/** The console: session, frame, page, palette, keys. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiFailure, isSessionOver } from '../api.ts'
import { releaseName } from '../branding.ts'
import { areKeysOn, boundKeys, moveRow, setKeysOn, useKeys } from '../keyboard.ts'
import { useLoaded } from '../loaded.ts'
import { findPage, Outlet } from '../outlet.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Check } from '../parts/field.tsx'
import { Frame, type NavGroup, Screen } from '../parts/frame.tsx'
import { Empty, Failed } from '../parts/notices.tsx'
import { openPalette } from '../parts/palette.tsx'
import { say, Toast } from '../parts/toast.tsx'
import { go, href, place, query } from '../router.ts'
import { switchTheme } from '../theme.ts'
import { noticesIn, tallyOf, useAttentionList } from './attention-list.ts'
import { EnrolmentPage } from './entrance/enrolment-page.tsx'
import { SignInDialog, SignInPage } from './entrance/sign-in.tsx'
import { openingMode } from './opening-mode.ts'
import { dataLabel } from './page-labels.ts'
import { type ConsolePage, homeOf, pages } from './pages.ts'
import { customer, mode, modeWord } from './scope.ts'
import { ScopeControl } from './scope-control.tsx'
import { SearchPalette } from './search.tsx'
import { exchangeLink, loadSession, session, signOut } from './session.ts'

const FIRST_PAGE = '/console/overview'
const SETUP_PAGE = '/console/setup'

const isRoot = (path: string): boolean => /^\/console\/?$/.test(path)

/** Opens the overview in the mode that has data, unless another page was opened meanwhile. */
async function openFirstPage(): Promise<void> {
  const mode = query.value.get('mode') ?? modeWord(await openingMode())
  if (isRoot(place.value.path)) go(href(FIRST_PAGE, { mode }), { replace: true })
}

async function openSession(token: string | undefined): Promise<void> {
  if (token === undefined) await loadSession()
  else await exchangeLink(token)
  const isNew = session.value?.operator === null
  if (token !== undefined && isNew) go(SETUP_PAGE, { replace: true })
}

export function App({ token }: { readonly token: string | undefined }) {
  const failure = useSignal<ApiFailure | undefined>(undefined)
  const start = (link: string | undefined) => {
    failure.value = undefined
    openSession(link).catch((error: unknown) => {
      if (!(error instanceof ApiFailure)) throw error
      failure.value = error
      // A link that was used before: the browser may have a session already.
      if (link !== undefined) loadSession().catch(() => undefined)
    })
  }
  // Once.
  useEffect(() => start(token), [])
  const current = session.value
  const { path } = place.value
  useEffect(() => {
    if (current && isRoot(path)) openFirstPage()
  }, [current, path])
  if (failure.value && failure.value.status !== 401 && !current) {
    return (
      <main>
        <Failed failure={failure.value} onRetry={() => start(token)} />
      </main>
    )
  }
  if (current === undefined) return null
  if (current === null) return <SignInPage linkFailure={token ? failure.value : undefined} />
  if (current.second_factor === 'enrolment_required') return <EnrolmentPage isRequired />
  if (isRoot(path)) return null
  const isSetup = path === SETUP_PAGE
  return (
    <>
      {isSetup ? <Outlet rows={pages} fallback={null} /> : <Console />}
      {isSessionOver.value && <SignInDialog />}
      <Toast />
    </>
  )
}

const GROUPS = ['Traffic', 'Contract', 'Access', 'Data', 'Installation'] as const

interface Resources {
  readonly resources: readonly { readonly name: string }[]
}

/** The links of the side bar: those of `pages.ts`, and one for each declared resource. */
function useGroups(current: ConsolePage | undefined): readonly NavGroup[] {
  const dataPage = pages.find(({ path }) => path.startsWith('/console/data/'))
  const { data } = useLoaded<Resources>(dataPage ? '/admin/resources' : undefined)
  const notices = useAttentionList()
  const inScope = noticesIn({ mode: mode.value, customer: customer.value }, notices)
  const { path } = place.value
  const dataLinks = (data?.resources ?? []).map(({ name }) => {
    const url = `/console/data/${name}`
    return { label: dataLabel(name), href: href(url), isCurrent: `${path}/`.startsWith(`${url}/`) }
  })
  return GROUPS.map((label) => ({
    label,
    links: [
      ...pages
        .filter((page) => page.group === label)
        .map((page) => ({
          label: page.label,
          href: href(homeOf(page)),
          isCurrent: page === current,
          tally: tallyOf(page.label, inScope),
        })),
      ...(label === 'Data' ? dataLinks : []),
    ],
  })).filter(({ links }) => links.length > 0)
}

function Console() {
  const current = findPage(pages, place.value.path)?.row
  const groups = useGroups(current)
  const isHelpOpen = useSignal(false)
  useShortcuts(() => {
    isHelpOpen.value = true
  })
  return (
    <>
      <Frame
        subtitle="Gatehook console"
        home={href(FIRST_PAGE)}
        label="Console"
        groups={groups}
        scope={<ScopeControl />}
        isTestMode={mode.value === 'test'}
        foot={
          <Foot
            onHelp={() => {
              isHelpOpen.value = true
            }}
          />
        }
      >
        <Outlet
          rows={pages}
          fallback={
            <Screen title="Not found">
              <Empty title="The console has no page at this address">
                <a href={href(FIRST_PAGE)}>Overview</a>
              </Empty>
            </Screen>
          }
        />
      </Frame>
      <SearchPalette groups={groups} />
      {isHelpOpen.value && (
        <KeyHelp
          onClose={() => {
            isHelpOpen.value = false
          }}
        />
      )}
    </>
  )
}

function Foot({ onHelp }: { readonly onHelp: () => void }) {
  const leave = async () => {
    await signOut()
    go('/console')
  }
  return (
    <>
      <span>{session.value?.email ?? 'Signed in by link'}</span>
      {session.value?.operator === null && <a href={SETUP_PAGE}>Create an operator</a>}
      <button type="button" class="link" onClick={onHelp}>
        Keyboard
      </button>
      <button type="button" class="link" onClick={leave}>
        Sign out
      </button>
      <span class="faint">Gatehook {releaseName}</span>
    </>
  )
}

/** The keys of every page. */
function useShortcuts(openHelp: () => void): void {
  useKeys([
    { keys: '/', label: 'Filter this page', run: focusFilter },
    { keys: 'j', label: 'Next row', run: () => moveRow(1) },
    { keys: 'k', label: 'Previous row', run: () => moveRow(-1) },
    { keys: 'c', label: 'Copy as curl', run: copyCurl },
    { keys: 't', label: 'Change the theme', run: () => say(`Theme: ${switchTheme()}`) },
    { keys: '?', label: 'Keyboard help', run: openHelp },
    ...pages
      .filter(({ key }) => key !== undefined)
      .map((page) => ({
        keys: `g ${page.key}`,
        label: page.label,
        run: () => go(href(homeOf(page))),
      })),
  ])
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.key !== 'k') return
      event.preventDefault()
      openPalette()
    }
    document.addEventListener('keydown', open)
    return () => document.removeEventListener('keydown', open)
  }, [])
}

const focusFilter = () => document.querySelector<HTMLElement>('.query input')?.focus()

function copyCurl(): void {
  const inDrawer = document.querySelector<HTMLElement>('.drawer [data-curl]')
  ;(inDrawer ?? document.querySelector<HTMLElement>('[data-curl]'))?.click()
}

const KeyHelp = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard" onClose={onClose} footer={<Button onClick={onClose}>Done</Button>}>
    <Check label="Use single keys" checked={areKeysOn.value} onChange={setKeysOn} />
    <dl class="kv">
      <dt>
        <kbd>⌘ K</kbd> <kbd>Ctrl K</kbd>
      </dt>
      <dd>Search or jump</dd>
      <dt>
        <kbd>Enter</kbd>
      </dt>
      <dd>Open the row</dd>
      {boundKeys().map(({ keys, label }) => (
        <>
          <dt>
            {keys.split(' ').map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{label}</dd>
        </>
      ))}
    </dl>
  </Dialog>
)
