/** Customers: the list, one customer in the drawer, and the form that creates one. */
import type { FilterWord } from '../../parts/query-box.tsx'
import { keepQuery, type PageProps } from '../../router.ts'
import { loadCustomers } from '../customer-names.ts'
import { parametersOf } from '../filter-words.ts'
import { ListScreen } from '../list-screen.tsx'
import { NewRow } from '../operation-forms.tsx'
import { mayChange } from '../session.ts'
import { CustomerDrawer } from './customer-drawer.tsx'
import type { CustomerRow } from './customer-shapes.ts'

const PATH = '/admin/customers'

const words: readonly FilterWord[] = [
  { name: 'name', hint: 'the name of a customer' },
  { name: 'id', hint: 'the id of a customer' },
  { name: 'suspended', hint: 'true or false', values: ['true', 'false'] },
]

const customerHref = (id: string): string => keepQuery(`/console/customers/${id}`)

/** Loads the names of the customers again, too. */
const withNames = (reload: () => void) => () => {
  reload()
  loadCustomers().catch(() => undefined)
}

export const Page = ({ params }: PageProps) => (
  <ListScreen<CustomerRow>
    title="Customers"
    path={PATH}
    parameters={(filters) => ({
      sort: 'name',
      ...parametersOf(filters),
    })}
    noun="customer"
    intro="The parties that use this API. Each has its own data, credentials, webhooks and limits."
    creation={{
      label: 'Create a customer',
      isAllowed: mayChange('administrator'),
      form: ({ onClose, onCreate }) => (
        <NewRow<CustomerRow>
          operation="create_customer"
          path={PATH}
          title="Create a customer"
          verb="Create"
          busyVerb="Creating…"
          words={{ name: {}, contact_email: {} }}
          hrefOf={({ id }) => customerHref(id)}
          onClose={onClose}
          onCreate={withNames(onCreate)}
        />
      ),
    }}
    words={words}
    placeholder="name:…  suspended:true"
    caption="Customers by name"
    object="Customer"
    openId={params.id}
    pagePath="/console/customers"
    drawer={({ onChange, ...row }) => (
      <CustomerDrawer key={row.id} {...row} onChange={withNames(onChange)} />
    )}
  />
)
