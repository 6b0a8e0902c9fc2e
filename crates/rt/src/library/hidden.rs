//! State that functions of the C library share without a guard, and handlers of the C++ library,
//! which guards them. Each part has an address here, at which calls are accesses or operations. The
//! report shows it by the name of its variable.

use core::sync::atomic::AtomicU64;

macro_rules! hidden {
    ($($name:ident)*) => {
        $(
            #[allow(non_upper_case_globals, reason = "the name is what the report shows")]
            #[used]
            static $name: AtomicU64 = AtomicU64::new(0);
        )*

        /// The address of the part with this name.
        pub fn address(name: &str) -> usize {
            $(
                if name == stringify!($name) {
                    return &raw const $name as usize;
                }
            )*
            &raw const other as usize
        }
    };
}

hidden! {
    aliasent ctermid cuserid default_resource drand48 ecvt ether_aton ether_ntoa fgetgrent fgetpwent fgetsgent
    fgetspent fsent getaliasbyname getdate getgrnam getlogin getmntent getopt getprotobyname
    getpwnam getrpcbyname getservbyname getsgnam getspnam grent hsearch inet_nsap_ntoa l64a
    localeconv netgrent new_handler other protoent ptsname pwent re_comp rpcent servent sgent sgetsgent
    sgetspent signgam spent strtok terminate_handler tmpnam ttyent ttyname unexpected_handler usershell
    utent
}
