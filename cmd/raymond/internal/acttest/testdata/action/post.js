'use strict';
console.log(`post after ${process.env['STATE_from-main']}`);
