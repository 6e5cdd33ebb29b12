'use strict';
require('./raymond').become('action');
