/** Fastify with one route that returns a constant: the limit of the framework. */
import Fastify from 'fastify'
import { announce } from './announce.ts'

const app = Fastify({ logger: false })
app.get('/', () => ({ hello: 'world' }))
await announce(app)
