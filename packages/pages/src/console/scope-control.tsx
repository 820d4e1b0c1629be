/** Selects mode and customer; the choice is in the URL and stays from page to page. */
import { useEffect, useRef } from 'preact/hooks'
import { sessionEpoch } from '../api.ts'
import { place } from '../router.ts'
import { customerName, customers, loadCustomers } from './customer-names.ts'
import { customer, mode, scopeHref } from './scope.ts'

export function ScopeControl() {
  const menu = useRef<HTMLDetailsElement>(null)
  const epoch = sessionEpoch.value
  // Again after a sign-in.
  useEffect(() => {
    loadCustomers().catch(() => undefined)
  }, [epoch])
  const { path, query } = place.value
  // The menu closes when the URL changes.
  useEffect(() => {
    if (menu.current) menu.current.open = false
  }, [path, query])
  const name = customer.value && customerName(customer.value)
  const choice = (label: string, url: string, isCurrent: boolean) => (
    <a key={url} class="pick" href={url} aria-current={isCurrent ? 'true' : undefined}>
      {label}
    </a>
  )
  return (
    <details class="pop scope" ref={menu}>
      <summary>
        <span>
          <span class="vh">Data of: </span>
          {name || 'All customers'} · {mode.value === 'test' ? 'Test' : 'Live'}
        </span>
      </summary>
      <div class="panel">
        <p class="up">Mode</p>
        {choice('Live', scopeHref({ mode: undefined }), mode.value === 'live')}
        {choice('Test', scopeHref({ mode: 'test' }), mode.value === 'test')}
        <p class="up">Customer</p>
        {choice('All customers', scopeHref({ customer: undefined }), !customer.value)}
        {customers.value.map(({ id, name }) =>
          choice(name, scopeHref({ customer: id }), customer.value === id),
        )}
      </div>
    </details>
  )
}
