/** API keys: the list, one key in the drawer, and the sheet that creates a key. */
import { slowNow } from '../../clock.ts'
import { createKeyCommand } from '../../commands.ts'
import { isoSecond } from '../../format.ts'
import type { Filter, FilterWord } from '../../parts/query-box.tsx'
import { State } from '../../parts/state.tsx'
import type { PageProps } from '../../router.ts'
import { customerWord } from '../customer-names.ts'
import { ListScreen } from '../list-screen.tsx'
import { customer, mode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { CreateKey } from './create-key.tsx'
import { KeyDrawer } from './key-drawer.tsx'
import { type KeyRow, stateOf } from './key-shapes.ts'

const PATH = '/admin/keys'
const DAY_MS = 86_400_000
const DAYS = /^(\d{1,3})d$/

const inDays = (value: string): string | undefined =>
  DAYS.test(value) ? undefined : 'It must be a number of days: 90d.'

const keyWords = (): readonly FilterWord[] => [
  { name: 'name', hint: 'the name of a key' },
  { name: 'id', hint: 'the id of a key' },
  customerWord('of'),
  { name: 'scope', hint: 'a scope that the key has' },
  { name: 'unused', hint: 'not used for 90d', values: ['30d', '90d'], check: inDays },
  {
    name: 'state',
    hint: 'revoked keys',
    values: ['revoked'],
    check: (value) => (value === 'revoked' ? undefined : 'It must be revoked.'),
  },
  { name: 'expires', hint: 'expires within 30d', values: ['7d', '30d'], check: inDays },
]

/** Returns the parameters of `GET /admin/keys`. Instants are whole minutes, so that they last. */
function parametersOf(filters: readonly Filter[]) {
  const nowMs = Math.floor(slowNow().value / 60_000) * 60_000
  const entries = filters.flatMap(({ name, value }): [string, string][] => {
    const days = Number(DAYS.exec(value)?.[1] ?? 0)
    if (name === 'unused') return [['last_used_at[lt]', isoSecond(nowMs - days * DAY_MS)]]
    if (name === 'expires') return [['expires_at[lt]', isoSecond(nowMs + days * DAY_MS)]]
    if (name === 'state') {
      return [
        ['revoked', 'true'],
        ['sort', '-revoked_at'],
      ]
    }
    return [[name === 'of' ? 'customer' : name, value]]
  })
  return Object.fromEntries(entries)
}

/** The end of a key, or of its old secret, depends on the time. */
const KeyState = (row: KeyRow) => {
  const [tone, words] = stateOf(row, slowNow().value)
  return <State tone={tone}>{words}</State>
}

export const Page = ({ params }: PageProps) => (
  <ListScreen<KeyRow>
    title="Keys"
    path={PATH}
    parameters={(filters) => ({
      mode: mode.value,
      customer: customer.value,
      sort: '-last_used_at',
      ...parametersOf(filters),
    })}
    noun="key"
    intro="A key identifies a program of a customer. The server stores only its hash."
    creation={{
      label: 'Create a key',
      isAllowed: mayChange('support'),
      form: (props) => <CreateKey {...props} />,
    }}
    words={keyWords()}
    placeholder="name:…  of:cus_…  unused:90d  state:revoked"
    caption="Keys, the last used first"
    object="ListedApiKey"
    cells={{ state: KeyState }}
    omit={['id', 'revoked_at', 'expires_at']}
    empty={{
      text: 'Create a key here, or in a terminal.',
      command: createKeyCommand(mode.value),
    }}
    openId={params.id}
    pagePath="/console/keys"
    drawer={(row) => <KeyDrawer key={row.id} {...row} />}
  />
)
