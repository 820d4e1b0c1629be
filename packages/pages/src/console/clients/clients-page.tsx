/** OAuth clients: the list, one client in the drawer, and the sheet that registers one. */
import { createClientCommand } from '../../commands.ts'
import type { FilterWord } from '../../parts/query-box.tsx'
import type { PageProps } from '../../router.ts'
import { customerName } from '../customer-names.ts'
import { parametersOf } from '../filter-words.ts'
import { ListScreen } from '../list-screen.tsx'
import { customer, mode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { ClientDrawer } from './client-drawer.tsx'
import type { ClientRow } from './client-shapes.ts'
import { RegisterClient } from './register-client.tsx'

const PATH = '/admin/clients'

const words: readonly FilterWord[] = [
  { name: 'name', hint: 'the name of a client' },
  { name: 'id', hint: 'the id of a client' },
  { name: 'public', hint: 'true: without a secret', values: ['true', 'false'] },
  {
    name: 'source',
    hint: 'document: of no customer',
    values: ['document', 'registration', 'host'],
  },
]

/** A client that describes itself has no customer; its id says whose it is. */
function ownerOf({ customer: id, client_id: clientId }: ClientRow): string {
  return id === null ? clientId : customerName(id)
}

const isOfNoCustomer = (filters: readonly { readonly name: string }[]): boolean =>
  filters.some(({ name }) => name === 'source')

export const Page = ({ params }: PageProps) => (
  <ListScreen<ClientRow>
    title="Clients"
    path={PATH}
    parameters={(filters) => ({
      ...(!isOfNoCustomer(filters) && { mode: mode.value, customer: customer.value }),
      sort: 'name',
      ...parametersOf(filters, { id: 'client_id' }),
    })}
    noun="client"
    intro="A client is a program that gets OAuth 2.0 tokens."
    creation={{
      label: 'Register a client',
      isAllowed: mayChange('administrator'),
      form: (props) => <RegisterClient {...props} />,
    }}
    words={words}
    placeholder="name:…  public:true  source:document"
    caption="Clients by name"
    object="Client"
    cells={{ customer: ownerOf }}
    rowKey={({ client_id: id }) => id}
    empty={{
      text: 'Register a client here, or in a terminal.',
      command: createClientCommand(mode.value),
    }}
    openId={params.id}
    pagePath="/console/clients"
    drawer={(row) => <ClientDrawer key={row.id} {...row} />}
  />
)
