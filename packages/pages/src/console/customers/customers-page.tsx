/** Customers: the list, one customer in the drawer, and the form that creates one. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { day } from '../../format.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed } from '../../parts/notices.tsx'
import type { FilterWord } from '../../parts/query-box.tsx'
import { type Column, Sub } from '../../parts/table.tsx'
import { go, keepQuery, type PageProps } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { loadCustomers } from '../customer-names.ts'
import { parametersOf } from '../filter-words.ts'
import { createdColumn, idColumn } from '../list-columns.tsx'
import { ListScreen } from '../list-screen.tsx'
import { mayChange } from '../session.ts'
import { CustomerDrawer } from './customer-drawer.tsx'
import { type CustomerRow, limitWords } from './customer-shapes.ts'
import { CustomerState } from './customer-state.tsx'

const PATH = '/admin/customers'

const words: readonly FilterWord[] = [
  { name: 'name', hint: 'the name of a customer' },
  { name: 'id', hint: 'the id of a customer' },
  { name: 'suspended', hint: 'true or false', values: ['true', 'false'] },
]

const customerHref = (id: string): string => keepQuery(`/console/customers/${id}`)

const columns: readonly Column<CustomerRow>[] = [
  {
    name: 'name',
    label: 'Customer',
    isMain: true,
    cell: (row) => (
      <>
        <a class="cover" href={customerHref(row.id)}>
          {row.name}
        </a>
        <Sub>
          {limitWords(row.limits.rate_limit, 'requests')} · {day(row.created_at)}
        </Sub>
      </>
    ),
  },
  idColumn,
  { name: 'state', label: 'State', class: 'nowrap', cell: (row) => <CustomerState row={row} /> },
  {
    name: 'requests',
    label: 'Requests of a credential',
    priority: 3,
    cell: ({ limits }) => limitWords(limits.rate_limit, 'requests'),
  },
  {
    name: 'deliveries',
    label: 'Deliveries',
    priority: 4,
    class: 'nowrap',
    cell: ({ limits }) => limitWords(limits.delivery_rate, 'deliveries'),
  },
  createdColumn,
]

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
        <CreateCustomer onClose={onClose} onCreate={withNames(onCreate)} />
      ),
    }}
    words={words}
    placeholder="name:…  suspended:true"
    caption="Customers by name"
    columns={columns}
    rowKey={({ id }) => id}
    openId={params.id}
    closePath="/console/customers"
    drawer={({ onChange, ...row }) => (
      <CustomerDrawer key={row.id} {...row} onChange={withNames(onChange)} />
    )}
  />
)

interface CreateCustomerProps {
  readonly onClose: () => void
  readonly onCreate: () => void
}

function CreateCustomer({ onClose, onCreate }: CreateCustomerProps) {
  const [name, setName] = useState('')
  const [contact, setContact] = useState('')
  const { isBusy, failure, messageOf, run } = useSend()
  const create = () =>
    run(async () => {
      const { body } = await send<CustomerRow>('POST', PATH, {
        body: { name, contact_email: contact.trim() || null },
      })
      onCreate()
      onClose()
      go(customerHref(body.id))
    })
  return (
    <Dialog
      title="Create a customer"
      onClose={onClose}
      submit={{ verb: 'Create', busy: isBusy && 'Creating…', run: create }}
    >
      <Form onSubmit={create}>
        <Field
          label="Name"
          value={name}
          onInput={setName}
          error={messageOf('/name')}
          autofocus
          required
        />
        <Field
          label="Contact, an e-mail address"
          hint="The address for news, such as the end of a version."
          value={contact}
          onInput={setContact}
          error={messageOf('/contact_email')}
        />
        {/* Two fields: Enter needs a button of the form. */}
        <input type="submit" hidden />
      </Form>
      {failure && !messageOf('/name') && <Failed failure={failure} />}
    </Dialog>
  )
}
