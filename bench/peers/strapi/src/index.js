/** No custom start-up code. */
module.exports = { register() {}, bootstrap() {} }
