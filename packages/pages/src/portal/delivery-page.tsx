/** A delivery as a page of its own, so that developers can send each other its address. */
import { useTitle } from '../parts/frame.tsx'
import type { PageProps } from '../router.ts'
import { DeliveryDetail } from './delivery.tsx'

export function Page({ params }: PageProps) {
  useTitle('Delivery')
  return (
    <main id="main" class="page" tabIndex={-1}>
      <p class="trail">
        <a href="/portal">Your integration</a>
      </p>
      <h1>Delivery</h1>
      <DeliveryDetail id={params.id!} />
    </main>
  )
}
